"""The auditor: counts a release again from its files, and compares it with its manifest.

Nothing here uses what the engine knows; a release is read as anybody would read it.
"""
