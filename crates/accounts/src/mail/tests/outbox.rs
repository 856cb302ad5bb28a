use super::*;
use crate::mail::outbox::QueuedEmail;
use database::testing::on_each;

const T0: Micros = 1_790_000_000_000_000;

async fn due(database: &Database, now: Micros) -> Vec<QueuedEmail> {
    Outbox::new(database.clone()).due(now, 10).await.unwrap()
}

#[tokio::test]
async fn mail_is_enqueued_only_if_its_transaction_commits() {
    on_each(async |database| {
        let mut tx = database.begin().await.unwrap();
        enqueue(&mut tx, "a@example.org", MailKind::Reset, None, T0).await.unwrap();
        tx.rollback().await.unwrap();
        assert_eq!(due(&database, T0).await, []);

        let mut tx = database.begin().await.unwrap();
        enqueue(&mut tx, "b@example.org", MailKind::Reset, None, T0).await.unwrap();
        tx.commit().await.unwrap();
        let due = due(&database, T0).await;
        assert_eq!(due.len(), 1);
        assert_eq!((&*due[0].address, &*due[0].kind), ("b@example.org", "reset"));
    })
    .await;
}

#[tokio::test]
async fn claimed_mail_is_due_again_after_the_claim_expires() {
    on_each(async |database| {
        let outbox = Outbox::new(database.clone());
        put(&database, "a@example.org", MailKind::Reset, None).await;
        let [mail] = &*due(&database, Micros::MAX).await else { panic!("one is due") };
        assert!(outbox.claim(mail, mail.next + 100).await.unwrap());
        assert!(!outbox.claim(mail, mail.next + 200).await.unwrap(), "it was claimed before");
        assert_eq!(due(&database, mail.next + 99).await, []);
        // The worker that claimed it did not finish.
        let [again] = &*due(&database, mail.next + 100).await else { panic!("it is due again") };
        assert_eq!((again.id, again.attempts), (mail.id, 1));
        assert!(outbox.claim(again, again.next + 100).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn concurrent_workers_claim_each_mail_once() {
    on_each(async |database| {
        for n in 0..20 {
            put(&database, &format!("{n}@example.org"), MailKind::Reset, None).await;
        }
        let claims = (0..4).map(|_| {
            let outbox = Outbox::new(database.clone());
            tokio::spawn(async move {
                let mut claimed = 0;
                for mail in outbox.due(Micros::MAX - 1, 100).await.unwrap() {
                    claimed += u32::from(outbox.claim(&mail, Micros::MAX).await.unwrap());
                }
                claimed
            })
        });
        let mut all = 0;
        for claim in claims.collect::<Vec<_>>() {
            all += claim.await.unwrap();
        }
        assert_eq!(all, 20);
    })
    .await;
}

#[tokio::test]
async fn finished_mails_are_not_due_and_are_swept_when_old() {
    on_each(async |database| {
        let outbox = Outbox::new(database.clone());
        let mut tx = database.begin().await.unwrap();
        for (n, at) in [T0, T0 + 1, T0 + 2].into_iter().enumerate() {
            let address = format!("{n}@example.org");
            enqueue(&mut tx, &address, MailKind::Reset, None, at).await.unwrap();
        }
        tx.commit().await.unwrap();
        let mails = due(&database, T0 + 9).await;
        outbox.sent(mails[0].id, T0 + 9).await.unwrap();
        assert!(outbox.fail(mails[1].id, T0 + 9, &"long ".repeat(1_000)).await.unwrap());
        assert!(!outbox.fail(mails[1].id, T0 + 9, "again").await.unwrap());
        assert!(!outbox.fail(mails[0].id, T0 + 9, "it was sent").await.unwrap());
        assert_eq!(due(&database, Micros::MAX).await.len(), 1);
        assert_eq!(outbox.waiting().await.unwrap(), 1);

        assert_eq!(outbox.sweep(T0 + 1).await.unwrap(), 1);
        assert_eq!(outbox.sweep(T0 + 2).await.unwrap(), 1);
        assert_eq!(due(&database, Micros::MAX).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn deleted_account_leaves_no_mail() {
    on_each(async |database| {
        put(&database, "a@example.org", MailKind::Reset, None).await;
        put(&database, "b@example.org", MailKind::Reset, None).await;
        let mut tx = database.begin().await.unwrap();
        delete_for_address(&mut tx, "a@example.org").await.unwrap();
        tx.commit().await.unwrap();
        let left = due(&database, Micros::MAX).await;
        assert_eq!(left.iter().map(|mail| &*mail.address).collect::<Vec<_>>(), ["b@example.org"]);
    })
    .await;
}
