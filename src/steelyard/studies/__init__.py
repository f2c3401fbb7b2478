"""Would the verdict hold? Experiments on rankings and meta-evaluations, and papers reproduced."""
