//! A database per test, and helpers; a dev-dependency only
