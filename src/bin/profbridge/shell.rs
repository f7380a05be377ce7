//! `completions`: shell completions for packages.

use clap::{Args, Command};
use clap_complete::Shell;
use profbridge::Result;
use std::process::ExitCode;

/// Print shell completions
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge completions bash > ~/.local/share/bash-completion/completions/profbridge
  profbridge completions zsh > ~/.zfunc/_profbridge
  profbridge completions fish > ~/.config/fish/completions/profbridge.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArgs {
    /// Prints the completions of a command line.
    pub(crate) fn run(self, mut commands: Command) -> Result<ExitCode> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut commands, "profbridge", &mut text);
        profbridge::input::output::replace("-".as_ref(), &text)?;
        Ok(ExitCode::SUCCESS)
    }
}
