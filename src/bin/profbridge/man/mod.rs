//! `man`: the manual pages, one for the program, one for each command, and one for llvm-profdata mode.

mod command;
mod drop_in;
mod page;

use clap::{Args, Command};
use page::Page;
use profbridge::{Error, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge man /usr/local/share/man/man1
  profbridge man . && man ./profbridge-merge.1")]
pub(crate) struct ManArgs {
    /// An existing directory
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl ManArgs {
    /// Writes the pages of a command line.
    pub(crate) fn run(self, mut commands: Command) -> Result<ExitCode> {
        commands.build();
        let visible = || commands.get_subcommands().filter(|command| !command.is_hide_set());
        let names: Vec<String> = visible().map(command::page_name).collect();
        let mut pages = vec![command::program(&commands, &names), drop_in::page()];
        pages.extend(visible().filter(|one| one.get_name() != "help").map(|one| command::command(one, &names)));
        pages.iter().try_for_each(|page| self.write(page))?;
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, page: &Page) -> Result<()> {
        let path = self.folder.join(format!("{}.1", page.name()));
        profbridge::input::output::replace(&path, page.render().as_bytes())
            .map_err(|error: Error| error.with_hint("create the directory first"))
    }
}
