//! The HTTP edge: listener, project, caller, limits, access log, metrics
