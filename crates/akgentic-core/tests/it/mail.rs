//! Mail that waits while an actor is busy: looked at, waited for, taken back.

use std::time::Duration;

use akgentic_core::prelude::*;
use uuid::Uuid;

use crate::parts::{Member, Records, Scripted, WAIT, Waiting, a_team, act, step, text};

#[tokio::test]
async fn a_turn_sees_who_waits_and_hears_of_new_mail() {
    let (_system, team) = a_team().await;
    let (seen, look) = tokio::sync::oneshot::channel();
    let mut seen = Some(seen);
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let mut begun = Some(begun);
    let message = step(move |ctx| {
        let (seen, begun) = (seen.take(), begun.take());
        Box::pin(async move {
            let (Some(seen), Some(begun)) = (seen, begun) else { return Ok(()) };
            let mut arrivals = ctx.mail_arrivals();
            begun.send(arrivals).expect("heard");
            while ctx.pending_mail().len() < 2 {
                let more = ctx.mail_after(arrivals).await;
                assert!(more > arrivals, "{more}");
                arrivals = more;
            }
            assert_eq!(ctx.mail_arrivals(), arrivals);
            let later = tokio::time::timeout(Duration::ZERO, ctx.mail_after(arrivals)).await;
            assert!(later.is_err(), "nothing else came");
            let awaited: Vec<bool> = ctx.pending_mail().iter().map(|one| one.is_awaited).collect();
            let newest: Vec<bool> =
                ctx.mail_since(arrivals - 1).iter().map(|one| one.is_awaited).collect();
            assert_eq!(newest, [true]);
            assert_eq!(ctx.mail_since(0).len(), 2);
            assert!(ctx.mail_since(arrivals).is_empty());
            seen.send(awaited).expect("heard");
            Ok(())
        })
    });
    let busy = Scripted { message, ..Scripted::default() }.join(&team, "@b").await;
    busy.address().tell(text("work")).expect("told");
    assert_eq!(has_begun.await.expect("begun"), 1, "its own message came in");
    busy.address().tell_value("no message").expect("told");
    busy.address().tell(text("one")).expect("told");
    let asked = busy.address().ask(text("two"), WAIT);
    let (looked, asked) = tokio::join!(tokio::time::timeout(WAIT, look), asked);
    assert_eq!(looked.expect("in time").expect("seen"), [false, true]);
    asked.expect("answered in a turn of its own");
}

async fn send(from: &ActorRef<Member>, to: &ActorAddress) -> Uuid {
    let to = to.clone();
    let send = act(move |_, ctx| Box::pin(async move { Ok(ctx.send(&to, text("x"))?.id) }));
    from.ask(send).await.expect("sent")
}

#[tokio::test]
async fn field_d11_a_sender_takes_back_what_nobody_has_looked_at() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let (busy, gate) = Waiting::member(&team, "@b").await;
    let sender = team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    let other = team.create_actor::<Member>(BaseConfig::new("@c", "C")).await.expect("member");
    let at_work = send(&sender, busy.address()).await;
    gate.entered().await;
    let first = send(&sender, busy.address()).await;
    let second = send(&sender, busy.address()).await;
    let foreign = send(&other, busy.address()).await;
    let take_back = |ids: Vec<Uuid>| {
        let from = busy.address().clone();
        sender.ask(act(move |_, ctx| {
            Box::pin(async move {
                Ok(ctx.withdraw(&from, &ids)?.iter().map(|one| one.id).collect::<Vec<_>>())
            })
        }))
    };
    let all = vec![at_work, first, foreign, Uuid::nil()];
    assert_eq!(take_back(all.clone()).await.expect("alive"), [first]);
    assert!(take_back(all).await.expect("alive").is_empty(), "once only");
    gate.open(3);
    busy.address().stop(WAIT).await.expect("stopped");
    team.get_team().await.expect("drained");
    records.assert_closed();
    let handled = records.classes_of("@a");
    assert_eq!(handled.iter().filter(|class| **class == "HandledMessage").count(), 1);
    let turns = records.classes_of("@b");
    assert_eq!(turns.iter().filter(|class| **class == "ProcessedMessage").count(), 3);
    assert_ne!(second, first);
}
