//! `[plinth.nats]`: several nodes.

use crate::key::Key;
use crate::value::{ByteSize, Secret};

keys! {
    /// URL of the NATS server that connects the nodes of a cluster, with user and password if it
    /// needs them; several are separated by commas. A single node needs none.
    pub const URL: Key<Option<Secret>> = secret("plinth.nats.url");

    /// Name of this node; a restarted node with the same name replaces its predecessor at once.
    pub const NODE: Key<Option<String>> = optional_text("plinth.nats.node");

    /// How much WAL PostgreSQL retains per project for nodes that the broker does not reach; beyond that,
    /// their clients miss row changes and must reload.
    pub const MAX_RETAINED_WAL: Key<ByteSize> = bytes("plinth.nats.max_retained_wal", "4GB");
}
