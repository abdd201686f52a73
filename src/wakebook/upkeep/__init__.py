"""The clock and the care: jobs, watching, status, audit, doctor, costs."""
