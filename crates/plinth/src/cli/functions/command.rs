//! Arguments of `plinth functions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::args::RecordFilter;

#[derive(Subcommand)]
pub(crate) enum FunctionsCommand {
    /// Create supabase/functions/NAME from a template.
    New(NewArgs),
    /// List deployed functions.
    List,
    /// Upload functions; the server prepares and activates them.
    ///
    /// Without names: all of supabase/functions/ that are enabled in config.toml. Several are
    /// activated together, or none is. Files that they import from the folder are uploaded too.
    Deploy(DeployArgs),
    /// Delete a function with all its versions from the server; the folder is not changed.
    Delete {
        /// Its name.
        name: String,
    },
    /// Download the sources of a function into supabase/functions/.
    Download {
        /// Its name.
        name: String,
    },
    /// List the stored versions of a function.
    Versions {
        /// Its name.
        name: String,
    },
    /// Activate an older version, with its sources and settings.
    Rollback {
        /// Its name.
        name: String,
        /// The version [default: the previously active one].
        version: Option<i32>,
    },
    /// Output and calls of functions.
    Logs {
        /// Only this function.
        name: Option<String>,
        #[command(flatten)]
        filter: RecordFilter,
    },
}

#[derive(Args)]
pub(crate) struct NewArgs {
    /// Its name in URLs: letters, digits, - and _.
    pub(crate) name: String,
    /// Who may call it.
    #[arg(long, value_enum, default_value_t = Callers::Apikey)]
    pub(crate) auth: Callers,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Callers {
    /// Everybody: webhooks, public pages.
    None,
    /// Callers with an API key of the project, or a user's token.
    Apikey,
    /// Signed-in users; the function receives the user.
    User,
}

#[derive(Args)]
pub(crate) struct DeployArgs {
    /// Which functions [default: all of the folder].
    pub(crate) names: Vec<String>,
    /// Do not require a credential, whatever config.toml says.
    #[arg(long)]
    pub(crate) no_verify_jwt: bool,
    /// The import map or deno.json to use.
    #[arg(long, value_name = "FILE")]
    pub(crate) import_map: Option<PathBuf>,
    /// Delete functions from the server that the folder does not have.
    #[arg(long, conflicts_with = "names")]
    pub(crate) prune: bool,
    /// List the files that would be uploaded, without uploading them.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
