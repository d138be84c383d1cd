"""Figures of a table, one formula a function.

pandas in, a number out; Dask in, a lazy scalar out, and what is computed together shares its
passes. Class-based figures take a class table (`equivalence_classes`), or a released table whose
``quasi_identifiers`` are named; the others take tables of records.
"""

from dask_anon.metrics._risk_value import (
    Risk,
)
from dask_anon.metrics.attack import (
    BoostingRisk,
    LinkageRisk,
    PredictedColumn,
    boosting_reidentification,
    linkage_attack,
)
from dask_anon.metrics.distance import (
    by_element_distance,
    changed_cells,
)
from dask_anon.metrics.diversity import (
    adversarial_accuracy_gain,
    adversarial_knowledge_gain,
    alpha_k_anonymity,
    basic_beta_likeness,
    classification_metric,
    delta_disclosure,
    delta_presence,
    distinct_l_diversity,
    diversity_figures,
    enhanced_beta_likeness,
    entropy_l_diversity,
    k_map,
    recursive_c,
    recursive_cl_diversity,
    sensitive_entropy,
    t_closeness,
    violating_classes,
)
from dask_anon.metrics.entropy import (
    entropy_based_information_loss,
    kl_divergence,
    non_uniform_entropy,
    row_entropy,
)
from dask_anon.metrics.household import (
    household_risk,
)
from dask_anon.metrics.individual import (
    expected_reidentifications,
    frequency_counts,
    global_risk,
    individual_risk,
    individual_risk_threshold,
)
from dask_anon.metrics.loss import (
    ambiguity,
    generalization_intensity,
    global_certainty_penalty,
    granularity,
    n_lost_records,
    normalized_certainty_penalty,
    precision,
    suppressed_cell_rate,
)
from dask_anon.metrics.population import (
    population_uniqueness,
)
from dask_anon.metrics.population_table import (
    add_population_counts,
)
from dask_anon.metrics.risk import (
    THRESHOLDS,
    average_journalist_risk,
    average_prosecutor_risk,
    journalist_risk,
    marketer_risk,
    n_records_at_risk,
    n_records_below,
    n_suppressed_records,
    prosecutor_risk,
    records_at_risk,
    sample_uniqueness,
    smallest_class,
)
from dask_anon.metrics.separation import (
    attribute_sets,
    distinction,
    safe_combinations,
    separation,
)
from dask_anon.metrics.squared_error import (
    attribute_squared_error,
    il1s,
    record_squared_error,
    sse_over_sst,
)
from dask_anon.metrics.suda import (
    suda2,
    suda2_contributions,
)
from dask_anon.metrics.utility import (
    average_class_size,
    average_equivalence_class_size,
    calculate_avg_equivalence_class_size,
    discernibility,
    distinctness,
    n_classes,
)
from dask_anon.metrics.workload import (
    ModelUtility,
    QueryError,
    count_query_error,
    model_utility,
)

__all__ = [
    "THRESHOLDS",
    "BoostingRisk",
    "LinkageRisk",
    "ModelUtility",
    "PredictedColumn",
    "QueryError",
    "Risk",
    "add_population_counts",
    "adversarial_accuracy_gain",
    "adversarial_knowledge_gain",
    "alpha_k_anonymity",
    "ambiguity",
    "attribute_sets",
    "attribute_squared_error",
    "average_class_size",
    "average_equivalence_class_size",
    "average_journalist_risk",
    "average_prosecutor_risk",
    "basic_beta_likeness",
    "boosting_reidentification",
    "by_element_distance",
    "calculate_avg_equivalence_class_size",
    "changed_cells",
    "classification_metric",
    "count_query_error",
    "delta_disclosure",
    "delta_presence",
    "discernibility",
    "distinct_l_diversity",
    "distinction",
    "distinctness",
    "diversity_figures",
    "enhanced_beta_likeness",
    "entropy_based_information_loss",
    "entropy_l_diversity",
    "expected_reidentifications",
    "frequency_counts",
    "generalization_intensity",
    "global_certainty_penalty",
    "global_risk",
    "granularity",
    "household_risk",
    "il1s",
    "individual_risk",
    "individual_risk_threshold",
    "journalist_risk",
    "k_map",
    "kl_divergence",
    "linkage_attack",
    "marketer_risk",
    "model_utility",
    "n_classes",
    "n_lost_records",
    "n_records_at_risk",
    "n_records_below",
    "n_suppressed_records",
    "non_uniform_entropy",
    "normalized_certainty_penalty",
    "population_uniqueness",
    "precision",
    "prosecutor_risk",
    "record_squared_error",
    "records_at_risk",
    "recursive_c",
    "recursive_cl_diversity",
    "row_entropy",
    "safe_combinations",
    "sample_uniqueness",
    "sensitive_entropy",
    "separation",
    "smallest_class",
    "sse_over_sst",
    "suda2",
    "suda2_contributions",
    "suppressed_cell_rate",
    "t_closeness",
    "violating_classes",
]
