//! What can be typed after `plinth functions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::args::WantedRecords;

#[derive(Subcommand)]
pub(crate) enum FunctionsCommand {
    /// Write supabase/functions/NAME: a function that runs as it is.
    New(NewArgs),
    /// The functions that are deployed.
    List,
    /// Send functions to the server, which makes them ready and then lets requests go to them.
    ///
    /// Without names: all of supabase/functions/ that config.toml does not switch off. Several
    /// become active together, or none does. What they import from the folder is sent along.
    Deploy(DeployArgs),
    /// Remove a function with all its versions from the server; the folder stays.
    Delete {
        /// Its name.
        name: String,
    },
    /// Fetch the sources of a function into supabase/functions/.
    Download {
        /// Its name.
        name: String,
    },
    /// The versions of a function that are kept.
    Versions {
        /// Its name.
        name: String,
    },
    /// Go back to an older version, with its sources and settings.
    Rollback {
        /// Its name.
        name: String,
        /// Which one [default: that which was active last before the present one].
        version: Option<i32>,
    },
    /// What functions printed, and who called them.
    Logs {
        /// Only this function.
        name: Option<String>,
        #[command(flatten)]
        wanted: WantedRecords,
    },
}

#[derive(Args)]
pub(crate) struct NewArgs {
    /// What it is called in addresses: letters, digits, - and _.
    pub(crate) name: String,
    /// Who may call it.
    #[arg(long, value_enum, default_value_t = Callers::Apikey)]
    pub(crate) auth: Callers,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Callers {
    /// Everybody: webhooks, public pages.
    None,
    /// Whoever has a key of the project, or a user's token.
    Apikey,
    /// Users who are signed in; the function learns who.
    User,
}

#[derive(Args)]
pub(crate) struct DeployArgs {
    /// Which functions [default: all of the folder].
    pub(crate) names: Vec<String>,
    /// Let everybody call them, whatever config.toml says.
    #[arg(long)]
    pub(crate) no_verify_jwt: bool,
    /// The import map or deno.json to use.
    #[arg(long, value_name = "FILE")]
    pub(crate) import_map: Option<PathBuf>,
    /// Remove functions from the server that the folder does not have.
    #[arg(long, conflicts_with = "names")]
    pub(crate) prune: bool,
    /// List what would be sent, and send nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
