//! JWTs, key sets, API keys, sealing, claims to role
