//! Batches that go from one thread to another and come back empty.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// The two ends of a line on which `waiting` batches may stand.
pub(crate) fn batch_channel<T: Default>(waiting: usize) -> (BatchSender<T>, User<T>) {
    let (full, made) = sync_channel(waiting);
    let (used, spare) = channel();
    (BatchSender { full, spare }, User { made, used })
}

/// The end that makes batches. The other sees the end when this is dropped.
#[derive(Debug)]
pub(crate) struct BatchSender<T> {
    full: SyncSender<T>,
    spare: Receiver<T>,
}

impl<T: Default> BatchSender<T> {
    /// Hands a batch over and puts another in its place: one that was used
    /// before, as it was left, or a new one. `false` when nobody takes it.
    pub(crate) fn hand_over(&self, batch: &mut T) -> bool {
        let next = self.spare.try_recv().unwrap_or_default();
        self.full.send(std::mem::replace(batch, next)).is_ok()
    }
}

/// The end that uses batches.
#[derive(Debug)]
pub(crate) struct User<T> {
    made: Receiver<T>,
    used: Sender<T>,
}

impl<T> User<T> {
    /// Waits for the next batch and gives back the one that was used; `false`
    /// at the end, when the batch stays as it is.
    pub(crate) fn exchange(&self, batch: &mut T) -> bool {
        let Ok(next) = self.made.recv() else { return false };
        // The maker may be done and need it no more.
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
