use std::{hint::black_box, thread};

use proptest::prelude::*;
use tokio::sync::oneshot;

use super::{queue::Turns, *};

const ONE: Payer = Payer::Account(1);
const OTHER: Payer = Payer::Account(2);
const MS: Micros = 1_000;

fn work(percent: u32, burst_ms: u64, waiting_max: usize) -> Work {
    Work::new(WorkLimits { percent, burst: Duration::from_millis(burst_ms), waiting_max }, true)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn stranger(number: u32) -> Payer {
    Payer::address(std::net::Ipv4Addr::from(0x0a00_0000 + number).into())
}

#[test]
fn payer_owes_what_exceeds_share_and_burst() {
    let work = work(50, 20, 4);
    work.charge(ONE, Pool::Shard, ms(60), 0);
    // 60 ms at half a core are paid after 120 ms, of which it may be 40 ahead.
    assert_eq!(work.unpaid(ONE, 0), ms(120));
    for (now, debt) in [(0, 80), (30, 50), (80, 0), (500, 0)] {
        assert_eq!(work.debt(ONE, now * MS), ms(debt), "at {now} ms");
    }
    for payer in [OTHER, stranger(1), Payer::Hub] {
        assert_eq!(work.debt(payer, 0), Duration::ZERO, "{payer:?}");
    }
    work.charge(Payer::Hub, Pool::Writer, ms(3_600_000), 0);
    assert_eq!(work.debt(Payer::Hub, 0), Duration::ZERO, "the hub never waits");
    work.set_limits(WorkLimits::UNLIMITED);
    assert_eq!(work.debt(ONE, 0), Duration::ZERO);
}

#[test]
fn idle_time_is_not_saved_beyond_the_burst() {
    let work = work(10, 100, 4);
    work.charge(ONE, Pool::Rest, ms(1), 0);
    let later = 3_600_000 * MS;
    work.charge(ONE, Pool::Rest, ms(200), later);
    assert_eq!(work.debt(ONE, later), ms(1_000));
}

#[test]
fn totals_are_by_pool_and_dearest_by_recent_use() {
    let work = work(25, 1_000, 4);
    work.charge(ONE, Pool::Rest, ms(30), 0);
    work.charge(ONE, Pool::Images, ms(50), 0);
    work.charge(OTHER, Pool::Shard, ms(100), 0);
    work.charge(Payer::Hub, Pool::Shard, ms(7), 0);
    let total = |pool| work.totals().into_iter().find(|(one, _)| *one == pool).unwrap().1;
    assert_eq!([Pool::Rest, Pool::Images, Pool::Shard].map(total), [ms(30), ms(50), ms(107)]);
    let dearest = |now| {
        let dearest = work.dearest(2, now).into_iter();
        dearest.map(|used| (used.payer, used.pool, used.recent)).collect::<Vec<_>>()
    };
    let (one, other) = ((ONE, Pool::Images, ms(80)), (OTHER, Pool::Shard, ms(100)));
    assert_eq!(dearest(0), [other, one]);
    // Half after five minutes, and what is new counts whole.
    work.charge(ONE, Pool::Rest, ms(20), 300_000 * MS);
    assert_eq!(dearest(300_000 * MS), [(ONE, Pool::Rest, ms(60)), (OTHER, Pool::Shard, ms(50))]);
    assert_eq!(work.dearest(1, 300_000 * MS).len(), 1);
}

#[test]
fn other_nodes_are_told_of_accounts_once() {
    let (one, other) = (work(10, 0, 4), work(10, 0, 4));
    one.charge(ONE, Pool::Rest, ms(3), 0);
    one.charge(ONE, Pool::Shard, ms(4), 0);
    one.charge(stranger(1), Pool::Rest, ms(5), 0);
    let uses = one.drain_unreported();
    assert_eq!(uses.into_iter().collect::<Vec<_>>(), [(1, 7_000)]);
    assert!(one.drain_unreported().is_empty());
    other.charge_elsewhere(1, Duration::from_micros(7_000), 0);
    assert_eq!(other.debt(ONE, 0), ms(70));
    assert!(other.drain_unreported().is_empty(), "what came from elsewhere is not told again");
}

#[test]
fn payers_are_bounded_and_the_dearest_stay() {
    let work = work(10, 0, 4);
    work.charge(ONE, Pool::Shard, ms(60_000), 0);
    for number in 0..30_000 {
        work.charge(stranger(number), Pool::Rest, ms(1), i64::from(number));
    }
    assert!(work.ledger().len() <= 8_192, "{}", work.ledger().len());
    assert!(work.debt(ONE, 30_000) > ms(599_000), "reconnecting strangers do not clear a debt");
}

#[test]
fn addresses_of_one_subnet_are_one_payer() {
    let payer = |text: &str| Payer::address(text.parse().unwrap());
    for (one, other, same) in [
        ("10.0.0.1", "10.0.0.2", false),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
        ("::ffff:10.0.0.1", "10.0.0.1", true),
    ] {
        assert_eq!(payer(one) == payer(other), same, "{one} and {other}");
    }
}

async fn use_up(work: &Work, payer: Payer, used: Duration) {
    let permit = work.permit(payer, Pool::Rest).await.expect("its turn comes");
    work.charge(permit.payer(), Pool::Rest, used, work.now());
}

#[tokio::test(start_paused = true)]
async fn request_waits_until_the_share_has_paid() {
    let work = work(50, 20, 4);
    use_up(&work, ONE, ms(60)).await;
    assert_eq!(work.now(), 0, "it had nothing to wait for");
    use_up(&work, ONE, ms(0)).await;
    // A timer may be a millisecond late.
    assert!((80 * MS..=81 * MS).contains(&work.now()), "{} us", work.now());
    use_up(&work, OTHER, ms(0)).await;
    assert!(work.now() <= 81 * MS, "others do not wait");
}

/// A payer that was idle for an hour, and whose job on another task was not charged in advance.
#[tokio::test(start_paused = true)]
async fn idle_time_before_a_job_does_not_pay_for_it() {
    let work = work(50, 0, 4);
    work.charge(ONE, Pool::Rest, ms(1), work.now());
    sleep(ms(3_600_000)).await;
    let (payer, taken, used) = (ONE, Duration::ZERO, ms(40));
    drop(Permit { work: work.clone(), payer, pool: Pool::Webhooks, taken, used });
    // The 40 ms in which it ran have paid half.
    assert_eq!(work.unpaid(ONE, work.now()), ms(40));
}

#[tokio::test(start_paused = true)]
async fn waiting_request_goes_on_once_there_is_no_limit() {
    let work = work(50, 0, 4);
    use_up(&work, ONE, ms(3_600_000)).await;
    let mut waiting = Box::pin(work.permit(ONE, Pool::Rest));
    assert!(poll_once(waiting.as_mut()).await.is_none());
    work.set_limits(WorkLimits::UNLIMITED);
    drop(waiting.await.expect("its turn comes"));
    assert!(work.now() <= 2_000 * MS, "{} us", work.now());
}

#[tokio::test]
async fn request_is_refused_only_while_the_queue_of_its_payer_is_full() {
    let work = work(50, 20, 2);
    use_up(&work, ONE, ms(3_600_000)).await;
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let work = work.clone();
            tokio::spawn(async move { use_up(&work, ONE, ms(1)).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let refused = work.permit(ONE, Pool::Rest).await.expect_err("two wait already");
    assert!(refused > ms(7_000_000), "{refused:?}");
    for task in waiting {
        task.abort();
        assert!(task.await.expect_err("it waits").is_cancelled());
    }
    let entered = work.enter(ONE);
    assert!(entered.is_ok_and(|waiter| waiter.is_some()), "a cancelled request waits no longer");
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_are_charged_in_advance_and_cancelled_ones_for_what_they_used() {
    let work = work(50, 0, 4);
    let mut permit = work.permit(ONE, Pool::Rest).await.unwrap();
    permit.used = ms(80);
    drop(permit);
    assert_eq!(work.debt(ONE, work.now()), ms(160));
    sleep(ms(160)).await;
    let now = work.now();
    let permit = work.permit(ONE, Pool::Rest).await.unwrap();
    assert_eq!(permit.taken, ms(10), "an eighth of the last request");
    assert!(work.debt(ONE, work.now()) > Duration::ZERO, "the next one has to wait");
    drop(permit);
    assert!(work.debt(ONE, now) <= ms(1), "what was taken in advance is given back");
}

#[tokio::test]
async fn work_counts_and_waiting_does_not() {
    let work = work(100, 60_000, 4);
    let total = || work.totals()[Pool::Rest as usize].1;
    work.run(ONE, Pool::Rest, sleep(ms(50))).await;
    let waited = total();
    assert!(waited < ms(25), "{waited:?} of waiting");
    work.run(ONE, Pool::Rest, async { spin(ms(20)) }).await;
    let worked = total() - waited;
    assert!(worked >= ms(20), "{worked:?} of work");
}

/// A payer whose last request took so long that its next one is long.
async fn make_long(work: &Work, payer: Payer) {
    let mut permit = work.permit(payer, Pool::Rest).await.unwrap();
    permit.used = LONG * 8;
}

#[tokio::test]
async fn short_requests_do_not_hide_long_ones_among_them() {
    let work = work(100, 60_000, 4);
    let is_long_after = async |used: Duration| {
        let mut permit = work.permit(ONE, Pool::Rest).await.unwrap();
        permit.used = used;
        drop(permit);
        work.permit(ONE, Pool::Rest).await.unwrap().is_long()
    };
    assert!(!is_long_after(ms(0)).await);
    for _ in 0..20 {
        for used in [LONG * 2, ms(0), LONG / 10] {
            assert!(is_long_after(used).await, "after {used:?}");
        }
    }
    let mut short = 0;
    while is_long_after(LONG / 10).await {
        short += 1;
    }
    assert!(short < 10, "{short} short requests before the payer is short again");
}

/// Requests that have begun at the same time as the first long one of their payer.
#[tokio::test]
async fn request_goes_on_elsewhere_once_another_one_was_long() {
    let work = work(100, 1_000, 4);
    let here = thread::current().id();
    let (sender, receiver) = oneshot::channel::<()>();
    let waits = async move {
        let before = thread::current().id();
        receiver.await.unwrap();
        (before, thread::current().id())
    };
    let waiting = work.permit(ONE, Pool::Rest).await.unwrap().run_in_turn(Box::pin(waits));
    let long = work.permit(ONE, Pool::Rest).await.unwrap();
    let long = long.run_in_turn(Box::pin(async {
        spin(LONG);
        tokio::task::yield_now().await;
        thread::current().id()
    }));
    let wake = async {
        tokio::task::yield_now().await;
        sender.send(()).unwrap();
    };
    let (waited, elsewhere, ()) = tokio::join!(waiting, long, wake);
    let (before, after) = waited.unwrap();
    assert_eq!([before == here, after == here, elsewhere.unwrap() == here], [true, false, false]);
}

#[tokio::test]
async fn long_work_without_a_permit_runs_on_other_threads_too() {
    let work = work(100, 1_000, 4);
    let here = thread::current().id();
    let is_here = async |payer| {
        let job = async { (thread::current().id(), current().map(|(_, payer)| payer)) };
        let (thread, seen) = work.run_in_turn(payer, Pool::Mcp, job).await.unwrap();
        assert_eq!(seen, Some(payer));
        thread == here
    };
    assert!(is_here(ONE).await);
    let spun = work.run_in_turn(ONE, Pool::Mcp, async { spin(LONG) }).await;
    assert_eq!(spun, Ok(()));
    assert!(!is_here(ONE).await, "its last job was long");
    assert!(is_here(OTHER).await && is_here(Payer::Hub).await);
}

#[tokio::test]
async fn requests_of_a_payer_with_long_ones_run_on_other_threads() {
    let work = work(100, 1_000, 4);
    make_long(&work, ONE).await;
    let here = thread::current().id();
    for (payer, is_here) in [(ONE, false), (OTHER, true)] {
        let permit = work.permit(payer, Pool::Rest).await.unwrap();
        let (sender, receiver) = oneshot::channel();
        let request = async move {
            let before = thread::current().id();
            let received: u8 = receiver.await.unwrap();
            (received, before, thread::current().id())
        };
        assert_eq!(permit.is_long(), !is_here);
        let run = permit.run_in_turn(Box::pin(request));
        let (output, sent) = tokio::join!(run, async { sender.send(7) });
        let (received, before, after) = output.unwrap();
        assert_eq!((received, sent), (7, Ok(())));
        assert_eq!([before == here, after == here], [is_here; 2], "{payer:?}");
    }
}

#[tokio::test]
async fn long_request_that_is_cancelled_is_charged_for_the_poll_that_runs() {
    let work = work(100, 1_000, 4);
    make_long(&work, ONE).await;
    let spent = || work.totals()[Pool::Rest as usize].1;
    let before = spent();
    let permit = work.permit(ONE, Pool::Rest).await.unwrap();
    let (started, has_started) = oneshot::channel();
    let request = tokio::spawn(permit.run_in_turn(Box::pin(async move {
        started.send(()).unwrap();
        spin(ms(20));
    })));
    has_started.await.unwrap();
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    // The place is free once the poll has ended and was charged.
    let mut slots = Vec::new();
    for _ in 0..QueueLimits::by_cores().running_max_by_payer {
        slots.push(work.shared.polls.enter(ONE, Pool::Rest).await.unwrap());
    }
    assert!(spent() - before >= ms(20), "{:?}", spent() - before);
}

/// Each is given a place for its job while it is not polled.
#[tokio::test]
async fn long_requests_that_wait_for_jobs_do_not_block_each_other() {
    let work = work(100, 1_000, 4);
    make_long(&work, ONE).await;
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..4 * QueueLimits::by_cores().running_max {
        let permit = work.permit(ONE, Pool::Rest).await.unwrap();
        let job = scope(work.clone(), ONE, run_blocking(Pool::Blocking, || ()));
        requests.spawn(permit.run_in_turn(Box::pin(job)));
    }
    let all = requests.join_all().await;
    assert!(all.into_iter().all(|done| done == Ok(Ok(()))));
}

fn spin(least: Duration) {
    let begun = thread_time();
    while thread_time() - begun < least {
        black_box(());
    }
}

#[tokio::test]
async fn work_on_blocking_threads_is_charged_to_the_payer_of_the_scope() {
    let work = work(10, 0, 4);
    let job = || run_blocking(Pool::Images, || spin(ms(5)));
    scope(work.clone(), ONE, job()).await.unwrap();
    assert!(work.unpaid(ONE, work.now()) > Duration::ZERO);
    job().await.unwrap();
    let images = work.totals().into_iter().find(|(pool, _)| *pool == Pool::Images).unwrap().1;
    assert!(images >= ms(5), "{images:?}");
    let failed = scope(work.clone(), ONE, run_blocking(Pool::Images, || panic!("of a test"))).await;
    assert_eq!(failed, Err::<(), _>(Busy));
    scope(work.clone(), ONE, job()).await.expect("a panic frees its place");
}

const LIMITS: QueueLimits = QueueLimits {
    running_max: 2,
    running_max_by_payer: 1,
    waiting_max: 100,
    waiting_max_by_payer: 20,
};

#[test]
fn one_payer_with_many_jobs_delays_another_by_one() {
    let mut turns = Turns::new(LIMITS);
    (0..20).for_each(|job| turns.push(ONE, job).unwrap());
    assert_eq!(turns.push(ONE, 20), Err(Busy), "its own limit");
    assert_eq!(turns.next(), Some((ONE, 0)));
    assert_eq!(turns.next(), None, "its share of the places");
    turns.push(OTHER, 100).unwrap();
    assert_eq!(turns.next(), Some((OTHER, 100)));
    assert_eq!(turns.next(), None, "both places are taken");
    turns.done(ONE);
    turns.push(OTHER, 101).unwrap();
    assert_eq!(turns.next(), Some((ONE, 1)));
    turns.done(OTHER);
    assert_eq!(turns.next(), Some((OTHER, 101)));
}

#[test]
fn thousand_strangers_delay_an_account_by_one_turn() {
    let limits = QueueLimits { running_max: 1, waiting_max: 2_000, ..LIMITS };
    let mut turns = Turns::new(limits);
    (0..1_000).for_each(|number| turns.push(stranger(number), number).unwrap());
    let (running, _) = turns.next().unwrap();
    (0..3).for_each(|job| turns.push(ONE, job).unwrap());
    turns.push(Payer::Hub, 0).unwrap();
    turns.done(running);
    let mut order = Vec::new();
    while order.len() < 7 {
        let (payer, _) = turns.next().unwrap();
        turns.done(payer);
        order.push(payer);
    }
    let strangers = [1, 2, 3].map(stranger);
    let [first, second, third] = strangers;
    assert_eq!(order, [Payer::Hub, ONE, first, ONE, second, ONE, third]);
}

#[test]
fn full_queue_has_room_for_who_waits_least_and_for_other_kinds() {
    let limits = QueueLimits { running_max: 1, waiting_max: 6, waiting_max_by_payer: 5, ..LIMITS };
    let mut turns = Turns::new(limits);
    let (hoarder, second, third) = (stranger(1), stranger(2), stranger(3));
    (0..5).for_each(|job| turns.push(hoarder, job).unwrap());
    turns.push(second, 10).unwrap();
    turns.push(ONE, 20).expect("strangers do not fill the queue of accounts");
    turns.push(third, 30).expect("in place of the last one of the hoarder");
    turns.push(second, 11).expect("again");
    assert_eq!(turns.push(second, 12), Err(Busy), "nobody has more than it would have");
    assert_eq!(turns.push(hoarder, 5), Err(Busy));
    let mut started = Vec::new();
    while let Some((payer, job)) = turns.next() {
        turns.done(payer);
        started.push(job);
    }
    started.sort_unstable();
    assert_eq!(started, [0, 1, 2, 10, 11, 20, 30]);
}

#[tokio::test]
async fn what_is_kept_for_all_takes_turns_of_the_hub_at_the_cost_of_who_asked() {
    let work = work(10, 0, 4);
    let queue = FairQueue::new(LIMITS);
    scope(work.clone(), ONE, async {
        let _held = queue.enter_current(Pool::Rest).await.unwrap();
        let mut waiting = Box::pin(queue.enter_current(Pool::Rest));
        assert!(poll_once(waiting.as_mut()).await.is_none(), "the payer has its share");
        let shared = SharedValue::default();
        let turns = queue.clone();
        let make = async move {
            let slot = turns.enter_current(Pool::Images).await?;
            slot.run(|| spin(ms(5))).await
        };
        shared.get_or_make(|()| true, make).await.unwrap();
    })
    .await;
    assert!(work.unpaid(ONE, work.now()) > Duration::ZERO);
}

#[tokio::test]
async fn shared_value_is_made_once_while_who_asked_has_left() {
    let shared = SharedValue::default();
    let (go, wait) = oneshot::channel();
    let made = async { wait.await.map(|()| 1) };
    assert!(poll_once(Box::pin(shared.get_or_make(|_| true, made)).as_mut()).await.is_none());
    go.send(()).expect("it goes on without the one who asked");
    let again = async { Err::<u8, _>("made twice") };
    assert_eq!(shared.get_or_make(|_| true, again).await, Ok(1));
    let newer = async { Ok::<_, ()>(2) };
    assert_eq!(shared.get_or_make(|value| *value > 1, newer).await, Ok(2));
    let fails = async { Err("failed") };
    assert_eq!(shared.get_or_make(|_| false, fails).await, Err("failed"));
    assert_eq!(shared.get_or_make(|_| true, async { Err(()) }).await, Ok(2), "the older one stays");
}

proptest! {
    /// Whatever is pushed and ends in whatever order: no place is lost, no limit is exceeded, every job runs
    /// once, those of a payer in their order.
    #[test]
    fn turns_keep_their_limits_and_lose_nothing(
        steps in prop::collection::vec((0_u8..3, 0_u64..5), 1..200),
    ) {
        let limits = QueueLimits { running_max: 3, running_max_by_payer: 2, ..LIMITS };
        let mut turns = Turns::new(limits);
        let mut running: Vec<Payer> = Vec::new();
        let (mut pushed, mut started) = (Vec::new(), Vec::new());
        for (job, (step, number)) in steps.into_iter().enumerate() {
            let payer = if number == 4 { stranger(1) } else { Payer::Account(number) };
            match step {
                0 | 1 => {
                    if turns.push(payer, job).is_ok() {
                        pushed.push((payer, job));
                    }
                }
                _ => {
                    if !running.is_empty() {
                        turns.done(running.remove(job % running.len()));
                    }
                }
            }
            while let Some((payer, job)) = turns.next() {
                running.push(payer);
                started.push((payer, job));
            }
            prop_assert!(running.len() <= 3);
            for payer in &running {
                prop_assert!(running.iter().filter(|one| *one == payer).count() <= 2);
            }
        }
        while !running.is_empty() {
            turns.done(running.remove(0));
            while let Some((payer, job)) = turns.next() {
                running.push(payer);
                started.push((payer, job));
            }
        }
        pushed.sort_by_key(|(payer, _)| *payer);
        started.sort_by_key(|(payer, _)| *payer);
        prop_assert_eq!(started, pushed);
    }
}

#[tokio::test]
async fn places_of_cancelled_jobs_are_free_again() {
    let queue = FairQueue::new(QueueLimits { running_max: 1, running_max_by_payer: 1, ..LIMITS });
    let held = queue.enter(ONE, Pool::Rest).await.unwrap();
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.enter(OTHER, Pool::Rest).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let count =
        |queue: &FairQueue| queue.waiting().into_iter().map(|(_, count)| count).sum::<usize>();
    assert_eq!(count(&queue), 10);
    for task in waiting {
        task.abort();
        drop(task.await);
    }
    drop(held);
    assert_eq!(count(&queue), 0);
    drop(queue.enter(ONE, Pool::Rest).await.unwrap());
}

/// A client that disconnects does not end its job, which goes on taking a thread.
#[tokio::test]
async fn place_is_taken_until_the_job_ends() {
    let queue = FairQueue::new(QueueLimits { running_max: 1, running_max_by_payer: 1, ..LIMITS });
    let (end, ended) = std::sync::mpsc::sync_channel::<()>(1);
    let slot = queue.enter(ONE, Pool::Rest).await.unwrap();
    let job = tokio::spawn(async move { slot.run(move || ended.recv()).await });
    tokio::task::yield_now().await;
    job.abort();
    assert!(job.await.expect_err("its client has left").is_cancelled());
    let mut next = Box::pin(queue.enter(OTHER, Pool::Rest));
    assert!(poll_once(next.as_mut()).await.is_none(), "the job still runs");
    end.send(()).unwrap();
    drop(next.await.unwrap());
}

/// The output of a future that is ready at once.
async fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    poll_fn(|context| {
        Poll::Ready(match Pin::new(&mut future).poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}
