//! Operations that are tried again.

/// An operation that can be run again: any closure that returns a future, or [`Mutating`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operation that can be run again",
    note = "give a closure that returns a future of a `Result`; an `async` closure that mutates what it captures, such as \
            a driver, goes into `wait::Mutating`: `Mutating(async || radio.send().await)`"
)]
pub trait Repeatable<V, E> {
    /// Starts it once more.
    fn start(&mut self) -> impl Future<Output = Result<V, E>>;
}

impl<O: FnMut() -> F, F: Future<Output = Result<V, E>>, V, E> Repeatable<V, E> for O {
    #[expect(
        refining_impl_trait,
        reason = "it is the future itself, so that the compiler sees whether it is `Send`"
    )]
    fn start(&mut self) -> F {
        self()
    }
}

/// An `async` closure that mutates what it captures, such as a driver, as a [`Repeatable`] operation.
///
/// Today's compiler cannot always show that its future is `Send`, so it may not be possible to spawn a task that runs it.
///
/// ```
/// use atomic_breaker::{Breaker, wait::{HasTimer, Mutating, Retry}};
/// # struct Sensor;
/// # impl Sensor { async fn read(&mut self) -> Result<u16, ()> { Ok(21) } }
///
/// async fn measure(breaker: &Breaker<impl HasTimer>, sensor: &mut Sensor) -> Option<u16> {
///     breaker.retry(Retry::new(), Mutating(async || sensor.read().await)).await.ok()
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mutating<O>(pub O);

impl<O: AsyncFnMut() -> Result<V, E>, V, E> Repeatable<V, E> for Mutating<O> {
    fn start(&mut self) -> impl Future<Output = Result<V, E>> {
        (self.0)()
    }
}
