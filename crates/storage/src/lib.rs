//! The storage service: its schema and the SQL helpers that policies use
