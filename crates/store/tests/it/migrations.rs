//! Schema versions.

use campanile_store::{
    Db, StoreError,
    migrate::{self, Outcome, migrate},
    params,
};

use crate::lab::{Lab, NOW, both};

both! {
    async fn migrating_twice_changes_nothing(lab: Lab) {
        assert_eq!(migrate(&lab.db, lab.folder(), NOW).await.unwrap(), Outcome::Current);
        assert_eq!(migrate::version(&lab.db).await.unwrap(), migrate::NEWEST);
    }

    async fn a_newer_schema_is_refused(lab: Lab) {
        let sql = "INSERT INTO schema_versions (number, name, applied_at) VALUES (999, 'later', 0)";
        lab.db.write(async |mut tx| tx.execute(sql, params![]).await).await.unwrap();

        let refused = migrate(&lab.db, lab.folder(), NOW).await.unwrap_err();

        assert!(matches!(&refused, StoreError::Refused(why) if why.contains("999")), "{refused}");
    }

    async fn several_processes_may_start_at_once(lab: Lab) {
        let tasks: Vec<_> = (0..4).map(|_| {
            let (location, folder) = (lab.location.clone(), lab.folder().to_owned());
            tokio::spawn(async move {
                let db = Db::open(&location).await.unwrap();
                migrate(&db, &folder, NOW).await.unwrap()
            })
        }).collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), Outcome::Current);
        }
    }
}

#[tokio::test]
async fn a_backup_is_a_store_of_its_own() {
    let lab = Lab::sqlite().await;
    let copy = lab.folder().join("copy.db");
    lab.db.sqlite_backup(&copy).unwrap();

    let db = Db::open(&campanile_store::db::Location::Sqlite(copy)).await.unwrap();
    assert_eq!(migrate::version(&db).await.unwrap(), migrate::NEWEST);
}
