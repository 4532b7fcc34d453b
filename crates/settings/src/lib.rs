//! config.toml and environment become one typed tree
