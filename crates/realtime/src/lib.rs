//! The realtime service: its schema and the SQL functions that users call
