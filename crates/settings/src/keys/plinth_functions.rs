//! `[plinth.functions]`: limits and times of functions.

use super::AT_LEAST_ONE;
use crate::key::{
    Key, bytes, duration, flag, integer, networks, optional_duration, optional_integer,
    optional_path, optional_url, ports, text,
};

pub(super) const KEYS: &[Key] = &[
    flag(
        "plinth.functions.verify_jwt",
        true,
        "Heed verify_jwt of the folder's functions; without it, anybody may call all of them.",
    ),
    optional_path(
        "plinth.functions.env_file",
        "File with the variables of the folder's functions; by default functions/.env.",
    ),
    optional_path(
        "plinth.functions.import_map",
        "Import map of all functions of the folder, whatever theirs are.",
    ),
    flag(
        "plinth.functions.relay_error_header",
        false,
        "Mark requests that are refused for their token with x-relay-error.",
    ),
    text(
        "plinth.functions.region",
        "local",
        "What functions are told about where they run (SB_REGION).",
    ),
    optional_url(
        "plinth.functions.internal_url",
        "Base URL of Plinth as functions reach it (SUPABASE_URL); by default an address of this \
         machine.",
    ),
    networks(
        "plinth.functions.reachable_networks",
        &[],
        "Private networks that functions may reach, beside Plinth itself and its database. With \
         networks of IPv6 among them functions speak IPv6; without, they do not.",
    ),
    ports(
        "plinth.functions.refused_ports",
        &["25", "587"],
        "Ports that functions may not connect to, wherever they are: by default those of mail.",
    ),
    integer(
        "plinth.functions.min_workers",
        (0, 64),
        0,
        "Processes of one function that stay, once they have come, although nobody asks for it. \
         They go when others need their place.",
    ),
    optional_integer(
        "plinth.functions.max_workers",
        AT_LEAST_ONE,
        "Most processes of one function; by default one per core.",
    ),
    optional_integer(
        "plinth.functions.max_workers_total",
        AT_LEAST_ONE,
        "Most processes of all functions together; by default eight per core.",
    ),
    integer(
        "plinth.functions.spare_processes",
        (0, 16),
        1,
        "Processes of a project that are started ahead, while its functions are in use, so that one \
         which has none starts sooner.",
    ),
    duration(
        "plinth.functions.worker_idle",
        "5m",
        "Time without a request after which a process ends.",
    ),
    bytes(
        "plinth.functions.memory",
        "256MiB",
        "Memory of a process, beyond which it is ended.",
    ),
    bytes(
        "plinth.functions.temporary_files",
        "256MiB",
        "Room for the temporary files of a process, in memory; of a single file, where it has no `/tmp` of its own.",
    ),
    duration(
        "plinth.functions.cpu",
        "2s",
        "Processor time of one request; while several are open at once, time without ever listening.",
    ),
    duration(
        "plinth.functions.wall_clock",
        "400s",
        "Longest time of a request, and of work that goes on after its answer.",
    ),
    optional_duration(
        "plinth.functions.worker_lifetime",
        "Longest life of a process: from half of it on it gets no more requests.",
    ),
    duration(
        "plinth.functions.request_idle",
        "150s",
        "Longest wait for an answer to begin, and between its pieces.",
    ),
    duration(
        "plinth.functions.wait_timeout",
        "10s",
        "Longest wait of a request for a process.",
    ),
    duration(
        "plinth.functions.boot_timeout",
        "10s",
        "Longest wait for a process to serve after its start.",
    ),
    duration(
        "plinth.functions.graceful_exit",
        "15s",
        "Time that a process gets to finish when it must go.",
    ),
    bytes(
        "plinth.functions.max_body",
        "50MiB",
        "Largest body of a request.",
    ),
    integer(
        "plinth.functions.versions",
        AT_LEAST_ONE,
        10,
        "Versions of each function that are kept to go back to.",
    ),
];
