//! Batches that one thread passes to another and gets back for reuse.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Creates a channel with up to `waiting` pending batches.
pub(crate) fn batch_channel<T: Default>(waiting: usize) -> (BatchSender<T>, User<T>) {
    let (full, made) = sync_channel(waiting);
    let (used, spare) = channel();
    (BatchSender { full, spare }, User { made, used })
}

/// The sender of batches. Dropping it ends the channel.
#[derive(Debug)]
pub(crate) struct BatchSender<T> {
    full: SyncSender<T>,
    spare: Receiver<T>,
}

impl<T: Default> BatchSender<T> {
    /// Sends a batch and replaces it by another one: a used batch with its content, or a new one. Returns false if the
    /// receiver was dropped.
    pub(crate) fn hand_over(&self, batch: &mut T) -> bool {
        let next = self.spare.try_recv().unwrap_or_default();
        self.full.send(std::mem::replace(batch, next)).is_ok()
    }
}

/// The receiver of batches.
#[derive(Debug)]
pub(crate) struct User<T> {
    made: Receiver<T>,
    used: Sender<T>,
}

impl<T> User<T> {
    /// Waits for the next batch and returns the used one to the sender. Returns false at the end; the batch is then
    /// unchanged.
    pub(crate) fn exchange(&self, batch: &mut T) -> bool {
        let Ok(next) = self.made.recv() else { return false };
        // The sender may already be dropped.
        let _ = self.used.send(std::mem::replace(batch, next));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_arrive_in_order_and_are_used_again() {
        std::thread::scope(|scope| {
            let (maker, user) = batch_channel::<Vec<u32>>(2);
            scope.spawn(move || {
                let mut batch = Vec::new();
                for number in 0..1000 {
                    batch.clear();
                    batch.push(number);
                    assert!(maker.hand_over(&mut batch));
                }
                assert!(batch.capacity() != 0 || batch.is_empty());
            });
            let (mut batch, mut seen) = (Vec::new(), Vec::new());
            while user.exchange(&mut batch) {
                seen.extend_from_slice(&batch);
            }
            assert!(seen.into_iter().eq(0..1000));
        });
    }

    #[test]
    fn send_fails_after_the_receiver_is_dropped() {
        let (maker, user) = batch_channel::<Vec<u32>>(1);
        drop(user);
        assert!(!maker.hand_over(&mut vec![1]));
    }
}
