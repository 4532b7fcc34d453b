//! What a service needs to serve one project: Project, Caller, registry
