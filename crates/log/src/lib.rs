//! The log store: bounded queue, segment files, retention, search
