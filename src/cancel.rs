//! A token that ends a run from outside.

use crate::error::{ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the run that it was given to, from any thread. Clones are the same token.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the run to end. It does so at the next chunk of input.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if the run was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails once the run was asked to end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`].
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(ErrorKind::Cancelled.into()) } else { Ok(()) }
    }
}
