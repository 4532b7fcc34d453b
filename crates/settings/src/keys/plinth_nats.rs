//! `[plinth.nats]`: several nodes.

use crate::key::{Key, optional_text, secret};

pub(super) const KEYS: &[Key] = &[
    secret(
        "plinth.nats.url",
        "Address of NATS, over which the nodes of one installation talk to each other, with a user \
         and a password if it wants one; several with commas between. Without it this is the only \
         node.",
    ),
    optional_text(
        "plinth.nats.node",
        "What this node is called: a new run of it takes the place of the old one at once.",
    ),
];
