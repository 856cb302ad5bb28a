use std::net::Ipv4Addr;

use super::*;

impl Holders {
    pub(in crate::http) fn stage(&self, id: u64) -> Option<Stage> {
        self.entries.get(&id).map(|entry| entry.stage)
    }
}

fn stranger(number: u32) -> Payer {
    Payer::address(Ipv4Addr::from_bits(number).into())
}

/// Routes a connection of this holder, which then is in this stage; `None` if there is no room.
fn open(holders: &mut Holders, payer: Payer, stage: Stage) -> Option<u64> {
    let id = holders.add(payer, false, Arc::default());
    if !holders.route(id) {
        holders.remove(id);
        return None;
    }
    if stage != Stage::New {
        holders.enter(id, stage);
    }
    Some(id)
}

fn open_many(holders: &mut Holders, payer: Payer, stage: Stage, count: usize) -> Vec<u64> {
    (0..count).map(|_| open(holders, payer, stage).expect("room")).collect()
}

/// Which of these are being closed, by their places.
fn closing(holders: &Holders, ids: &[u64]) -> Vec<usize> {
    let closing = ids.iter().enumerate().filter(|(_, id)| holders.is_closing(**id));
    closing.map(|(at, _)| at).collect()
}

#[test]
fn account_with_most_loses_its_oldest_bodies_and_nobody_else_anything() {
    let mut holders = Holders::new(160);
    let customer = Payer::Account(2);
    let idle = open_many(&mut holders, customer, Stage::Idle, 3);
    let answering = open_many(&mut holders, customer, Stage::Answering, 3);
    let new = open_many(&mut holders, stranger(9), Stage::New, 2);
    let bodies = open_many(&mut holders, Payer::Account(1), Stage::Body, 152);
    for opened in 1..=20 {
        open(&mut holders, stranger(10 + opened), Stage::Idle).expect("room");
        assert_eq!(closing(&holders, &bodies), (0..opened as usize).collect::<Vec<_>>());
    }
    for ids in [idle, answering, new] {
        assert_eq!(closing(&holders, &ids), [0; 0]);
    }
    // The attacker too displaces only itself.
    open(&mut holders, Payer::Account(1), Stage::Body).expect("room");
    assert_eq!(closing(&holders, &bodies).len(), 21);
}

#[test]
fn strangers_whose_heads_do_not_come_displace_each_other() {
    let mut holders = Holders::new(160);
    let customer = open_many(&mut holders, Payer::Account(1), Stage::Idle, 5);
    let visitor = open_many(&mut holders, stranger(1), Stage::Idle, 5);
    let mut strangers = Vec::new();
    for number in 0..1_000 {
        strangers.extend(open(&mut holders, stranger(100 + number), Stage::New));
        let request = open(&mut holders, stranger(2), Stage::Answering).expect("it is answered");
        assert!(!holders.is_closing(request));
        holders.remove(request);
    }
    assert_eq!(closing(&holders, &[customer, visitor].concat()), [0; 0]);
    let newest: Vec<bool> =
        strangers.iter().rev().map(|id| !holders.is_closing(*id)).take(100).collect();
    assert_eq!(newest, [true; 100], "the oldest go");
    assert!(holders.order.len() <= 160);
}

#[test]
fn connections_are_closed_by_stage_and_strangers_first() {
    let mut holders = Holders::new(4);
    let mut ids = Vec::new();
    for (payer, stage) in [
        (Payer::Account(1), Stage::Body),
        (Payer::Account(2), Stage::Idle),
        (stranger(3), Stage::Idle),
        (stranger(4), Stage::New),
    ] {
        ids.extend(open(&mut holders, payer, stage));
    }
    for (newcomer, closed) in
        [(5, vec![3]), (6, vec![2, 3]), (7, vec![1, 2, 3]), (8, vec![0, 1, 2, 3])]
    {
        open(&mut holders, stranger(newcomer), Stage::Answering).expect("room");
        assert_eq!(closing(&holders, &ids), closed);
    }
    assert_eq!(open(&mut holders, stranger(9), Stage::New), None, "all are answered");
}

#[test]
fn responses_under_way_end_only_for_who_has_its_share() {
    let mut holders = Holders::new(64);
    let streams = open_many(&mut holders, Payer::Account(1), Stage::Answering, 64);
    let newcomer = holders.add(Payer::Account(1), false, Arc::default());
    assert!(!holders.route(newcomer), "it has more than its share itself");
    let others = open_many(&mut holders, Payer::Account(2), Stage::Answering, 4);
    assert_eq!(closing(&holders, &streams), [0, 1, 2, 3]);
    assert_eq!(open(&mut holders, Payer::Account(2), Stage::Answering), None);
    assert_eq!(closing(&holders, &others), [0; 0]);
}

#[test]
fn request_that_comes_just_in_time_is_answered() {
    let mut holders = Holders::new(1);
    let idle = open(&mut holders, stranger(1), Stage::Idle).expect("room");
    open(&mut holders, stranger(2), Stage::New).expect("room");
    assert!(holders.is_closing(idle));
    holders.enter(idle, Stage::Answering);
    assert!(!holders.is_closing(idle));
    assert_eq!(open(&mut holders, stranger(3), Stage::New), None, "one remains, which is answered");
    assert_eq!(holders.routed, 1);
}

#[test]
fn descriptors_come_from_who_has_sent_nothing() {
    let mut holders = Holders::new(160);
    let idle = open_many(&mut holders, stranger(1), Stage::Idle, 3);
    let silent = holders.add(stranger(2), false, Arc::default());
    assert!(holders.close_one(&Stage::WAITING));
    assert!(holders.is_closing(silent));
    assert!(holders.close_one(&Stage::WAITING));
    assert_eq!(closing(&holders, &idle), [0]);
}

/// Whatever happens, the tables describe the same connections.
#[test]
fn tables_agree_after_any_changes() {
    let mut holders = Holders::new(20);
    let mut ids: Vec<u64> = Vec::new();
    let mut random = 1_u64;
    for _ in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (action, pick) = (random >> 60, (random >> 33) as usize);
        let payer = [Payer::Hub, Payer::Account(1), stranger(1), stranger(2)][pick % 4];
        let stage = Stage::ALL[1 + pick / 4 % 4];
        let id = ids.get(pick % ids.len().max(1)).copied();
        match (action, id) {
            (0..4, _) | (_, None) => ids.extend(open(&mut holders, payer, stage)),
            (4..6, Some(id)) => holders.update(id, false, |entry| entry.payer = payer),
            (6..12, Some(id)) => holders.enter(id, stage),
            (_, Some(id)) => {
                holders.remove(id);
                ids.retain(|other| *other != id);
            }
        }
        let staying = holders.entries.values().filter(|entry| entry.turn.is_some()).count();
        let ranked: usize = holders.ranks.values().map(BTreeSet::len).sum();
        let pairs: BTreeSet<_> =
            holders.order.keys().map(|(payer, stage, _)| (*payer, *stage)).collect();
        assert_eq!((holders.order.len(), holders.routed, ranked), (staying, staying, pairs.len()));
        assert_eq!(holders.counts.values().sum::<usize>(), staying);
        for (stage, ranks) in &holders.ranks {
            assert!(ranks.iter().all(|rank| holders.rank(rank.3, *stage) == Some(*rank)));
        }
    }
    for id in &ids {
        holders.remove(*id);
    }
    assert!(holders.order.is_empty() && holders.counts.is_empty());
}
