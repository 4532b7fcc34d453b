//! The managed PostgreSQL server: find, initialise, start, supervise, stop
