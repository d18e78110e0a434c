//! The chain over the audit log.

use campanile_model::ids::WorkspaceId;
use campanile_store::{
    Db,
    audit::{self, Actor, Chain, Change},
    params,
};

use crate::lab::{Lab, NOW, both};

const KEY: &[u8; 32] = &[7; 32];

async fn record(db: &Db, count: i64) {
    let actor = Actor {
        workspace: WorkspaceId::stored("ws_1"),
        brand: None,
        user: None,
        door: "system",
        credential: None,
        request_id: "req_1".to_owned(),
        ip: None,
    };
    db.write(async |mut tx| {
        for number in 0..count {
            let id = format!("thing {number}");
            let change = Change {
                action: "thing.made",
                resource: "thing",
                resource_id: &id,
                before: None,
                after: Some("{}"),
            };
            audit::record(&mut tx, &actor, change, NOW).await?;
        }
        Ok::<_, campanile_store::StoreError>(())
    })
    .await
    .unwrap();
}

async fn verify(db: &Db) -> Chain {
    audit::verify(&mut db.read().await.unwrap(), KEY).await.unwrap()
}

async fn tamper(db: &Db, sql: &str) {
    let changed = db.write(async |mut tx| tx.execute(sql, params![]).await).await.unwrap();
    assert!(changed > 0);
}

async fn sealed(lab: &Lab) {
    record(&lab.db, 10).await;
    audit::seal(&lab.db, KEY, NOW).await.unwrap();
    record(&lab.db, 5).await;
    audit::seal(&lab.db, KEY, NOW).await.unwrap();
    record(&lab.db, 2).await;
    assert_eq!(verify(&lab.db).await, Chain::Whole { links: 2, entries: 15, unsealed: 2 });
}

both! {
    async fn a_changed_entry_breaks_the_chain(lab: Lab) {
        sealed(&lab).await;
        tamper(&lab.db, "UPDATE audit_log SET after = '{ }' WHERE resource_id = 'thing 7'").await;
        assert!(matches!(verify(&lab.db).await, Chain::Broken { link: 1, .. }));
    }

    async fn a_removed_entry_breaks_the_chain(lab: Lab) {
        sealed(&lab).await;
        let of_the_second_link = "
            DELETE FROM audit_log WHERE resource_id = 'thing 1'
               AND id > (SELECT upto FROM audit_seals WHERE number = 1)
               AND id <= (SELECT upto FROM audit_seals WHERE number = 2)";
        tamper(&lab.db, of_the_second_link).await;
        assert!(matches!(verify(&lab.db).await, Chain::Broken { link: 2, .. }));
    }

    async fn an_entry_that_changes_places_breaks_the_chain(lab: Lab) {
        sealed(&lab).await;
        tamper(&lab.db, "UPDATE audit_log SET id = id || 'z' WHERE resource_id = 'thing 9'").await;
        assert!(matches!(verify(&lab.db).await, Chain::Broken { .. }));
    }

    async fn a_removed_link_breaks_the_chain(lab: Lab) {
        sealed(&lab).await;
        tamper(&lab.db, "DELETE FROM audit_seals WHERE number = 2").await;
        assert!(matches!(verify(&lab.db).await, Chain::Broken { .. }));
    }

    async fn links_cut_off_together_with_their_entries_are_missed(lab: Lab) {
        sealed(&lab).await;
        let first = "(SELECT upto FROM audit_seals WHERE number = 1)";
        tamper(&lab.db, &format!("DELETE FROM audit_log WHERE id > {first}")).await;
        tamper(&lab.db, "DELETE FROM audit_seals WHERE number = 2").await;
        assert!(matches!(verify(&lab.db).await, Chain::Broken { link: 2, .. }));
    }

    async fn a_forged_link_breaks_the_one_after_it(lab: Lab) {
        sealed(&lab).await;
        tamper(&lab.db, "UPDATE audit_seals SET hash = previous WHERE number = 1").await;
        assert!(matches!(verify(&lab.db).await, Chain::Broken { link: 1, .. }));
    }

    async fn a_chain_made_with_another_key_does_not_verify(lab: Lab) {
        record(&lab.db, 3).await;
        audit::seal(&lab.db, &[8; 32], NOW).await.unwrap();
        assert!(matches!(verify(&lab.db).await, Chain::Broken { link: 1, .. }));
    }

    async fn long_logs_are_sealed_in_several_links(lab: Lab) {
        record(&lab.db, 4500).await;
        assert_eq!(audit::seal(&lab.db, KEY, NOW).await.unwrap(), 4500);
        assert_eq!(verify(&lab.db).await, Chain::Whole { links: 3, entries: 4500, unsealed: 0 });
    }
}
