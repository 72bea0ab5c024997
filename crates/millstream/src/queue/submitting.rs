//! Waiting for room in a shared queue.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::isolated::Look;
use super::line::Place;
use super::shared::{Pending, SharedQueue, Task, Waiting, leave};
use super::sleeper::Sleeper;
use super::{Done, Refused, Request};

impl SharedQueue {
    /// Waits for room and puts an operation in flight. The first `await` is for room, the second for the operation's end:
    ///
    /// ```
    /// # use millstream::queue::{Done, Refused, Request, SharedQueue};
    /// # async fn twice(queue: &SharedQueue, request: Request<'_>) -> Result<Done, Refused> {
    /// let pending = queue.submit_async(request).await?;
    /// let done = pending.await;
    /// # Ok(done) }
    /// ```
    ///
    /// Room goes to those who wait in the order in which they began to. A [`Pending`] keeps its room until it was awaited to
    /// its end or dropped, so a task that holds as many as the queue is deep must not wait for more.
    ///
    /// # Errors
    /// [`Refused`], as for [`SharedQueue::submit`], but never because the queue is full.
    pub fn submit_async<'a>(&self, request: Request<'a>) -> Submitting<'a> {
        Submitting::new(self.clone(), request)
    }

    /// Executes an operation in `async` code, on any executor: waits for room, then for the operation's end. If the future is
    /// dropped, the operation is cancelled.
    ///
    /// # Errors
    /// As for [`SharedQueue::submit_async`].
    pub async fn run_async(&self, request: Request<'_>) -> Result<Done, Refused> {
        Ok(self.submit_async(request).await?.await)
    }

    /// Executes an operation and waits on this thread: for room when the queue is full, then for the operation's end.
    ///
    /// # Errors
    /// As for [`SharedQueue::submit_async`].
    pub fn run(&self, request: Request<'_>) -> Result<Done, Refused> {
        let mut inner = self.lock();
        if inner.has_room_behind(inner.line.len()) {
            let submitted = inner.queue.submit(request);
            leave(inner, Vec::new());
            return Ok(Pending::new(self.clone(), submitted?).wait());
        }
        drop(inner);
        let sleeper = Sleeper::new();
        let pending = sleeper.wait_for(self.submit_async(request))?;
        Ok(sleeper.wait_for(pending.of_thread(&sleeper)))
    }
}

/// A request that waits for room in a [`SharedQueue`]: a future of the operation in flight.
///
/// Room goes to those who wait in the order in which they began to wait, and nobody overtakes them. If this is dropped,
/// its place in the line goes to the next, and the request's buffers go back to the arena.
#[must_use = "a request is put in flight when this is awaited"]
pub struct Submitting<'a> {
    queue: SharedQueue,
    /// The request, until it was submitted or refused.
    request: Option<Request<'a>>,
    /// The place in the line, once there was no room.
    place: Option<Place>,
    /// The look at the accelerator for room.
    look: Look,
}

impl<'a> Submitting<'a> {
    pub(super) fn new(queue: SharedQueue, request: Request<'a>) -> Self {
        Submitting { queue, request: Some(request), place: None, look: Look::default() }
    }
}

impl Future for Submitting<'_> {
    type Output = Result<Pending, Refused>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Submitting { queue, request, place, look } = self.get_mut();
        let queue = queue.clone();
        let mut inner = queue.lock();
        let mut wakers = Vec::new();
        let at = match *place {
            None if inner.has_room_behind(inner.line.len()) => None,
            None => Some(*place.insert(inner.line.join())),
            Some(at) => Some(at),
        };
        if let Some(at) = at
            && !inner.may_submit(at)
        {
            let task = Task { waiting: Waiting::Room(at), waker: context.waker(), sleeper: None };
            let room = inner.attend(&task, look, &mut wakers, |inner| inner.may_submit(at).then_some(()));
            if room.is_none() {
                leave(inner, wakers);
                return Poll::Pending;
            }
        }
        let request = request.take().expect("a future is not polled after its end");
        let submitted = inner.queue.submit(request);
        let kept = place.take().and_then(|at| inner.give_up(at, &mut wakers));
        leave(inner, wakers);
        drop(kept);
        Poll::Ready(submitted.map(|ticket| Pending::new(queue, ticket)))
    }
}

impl Drop for Submitting<'_> {
    fn drop(&mut self) {
        let Some(at) = self.place else { return };
        let mut inner = self.queue.lock();
        let mut wakers = Vec::new();
        let kept = inner.give_up(at, &mut wakers);
        leave(inner, wakers);
        drop(kept);
    }
}

impl fmt::Debug for Submitting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Submitting({:?})", self.request)
    }
}
