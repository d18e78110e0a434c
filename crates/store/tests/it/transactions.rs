//! What a transaction promises.

use std::time::Duration;

use campanile_store::{Db, StoreError, params};

use crate::lab::{Lab, both};

async fn keep(db: &Db, name: &str) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO service_settings (name, value) VALUES ($1, $2)";
    db.write(async |mut tx| tx.execute(SQL, params![name, b"x"]).await.map(|_| ())).await
}

async fn count(db: &Db) -> i64 {
    let mut conn = db.read().await.unwrap();
    conn.count("SELECT count(*) FROM service_settings", params![]).await.unwrap()
}

both! {
    async fn a_failed_transaction_leaves_nothing(lab: Lab) {
        let outcome: Result<(), StoreError> = lab.db.write(async |mut tx| {
            let sql = "INSERT INTO service_settings (name, value) VALUES ($1, $2)";
            tx.execute(sql, params!["a", b"x"]).await?;
            assert_eq!(tx.count("SELECT count(*) FROM service_settings", params![]).await?, 1);
            Err(StoreError::Refused("no".to_owned()))
        }).await;

        assert!(outcome.is_err());
        assert_eq!(count(&lab.db).await, 0);
    }

    async fn a_transaction_that_is_dropped_half_way_leaves_nothing_and_blocks_nobody(lab: Lab) {
        let cut_off = lab.db.write(async |mut tx| {
            let sql = "INSERT INTO service_settings (name, value) VALUES ($1, $2)";
            tx.execute(sql, params!["a", b"x"]).await?;
            std::future::pending::<Result<(), StoreError>>().await
        });
        assert!(tokio::time::timeout(Duration::from_millis(100), cut_off).await.is_err());

        tokio::time::timeout(Duration::from_secs(5), keep(&lab.db, "b")).await.unwrap().unwrap();
        assert_eq!(count(&lab.db).await, 1);
    }

    async fn one_member_of_a_group_can_fail_without_the_others(lab: Lab) {
        let mut tasks = Vec::new();
        for number in 0..200 {
            let db = lab.db.clone();
            tasks.push(tokio::spawn(async move {
                // Every fourth name is taken twice.
                keep(&db, &format!("name {}", number - number % 4 / 3)).await.is_ok()
            }));
        }
        let mut kept = 0;
        for task in tasks {
            kept += i64::from(task.await.unwrap());
        }

        assert_eq!(kept, 150);
        assert_eq!(count(&lab.db).await, 150);
    }

    async fn waiting_tasks_that_give_up_do_not_leave_a_group_open(lab: Lab) {
        for round in 0..50 {
            let tasks: Vec<_> = (0..8).map(|number| {
                let db = lab.db.clone();
                tokio::spawn(async move {
                    let name = format!("{round} {number}");
                    let work = keep(&db, &name);
                    let patience = Duration::from_micros(number * 150);
                    let _ = tokio::time::timeout(patience, work).await;
                })
            }).collect();
            for task in tasks {
                task.await.unwrap();
            }
        }

        tokio::time::timeout(Duration::from_secs(5), keep(&lab.db, "last")).await.unwrap().unwrap();
    }

    async fn rows_that_were_pushed_are_seen_by_the_next_statement(lab: Lab) {
        let seen = lab.db.write(async |mut tx| {
            let sql = "INSERT INTO service_settings (name, value) VALUES ($1, $2)";
            tx.push(sql, params!["a", b"x"]).await?;
            tx.push(sql, params!["b", b"x"]).await?;
            tx.count("SELECT count(*) FROM service_settings", params![]).await
        }).await.unwrap();

        assert_eq!((seen, count(&lab.db).await), (2, 2));
    }

    async fn a_pushed_row_that_is_refused_undoes_the_transaction(lab: Lab) {
        keep(&lab.db, "a").await.unwrap();
        let outcome = lab.db.write(async |mut tx| {
            let sql = "INSERT INTO service_settings (name, value) VALUES ($1, $2)";
            tx.push(sql, params!["b", b"x"]).await?;
            tx.push(sql, params!["a", b"x"]).await
        }).await;

        assert!(matches!(outcome, Err(StoreError::Taken)), "{outcome:?}");
        assert_eq!(count(&lab.db).await, 1);
    }

    async fn parameters_are_numbered_by_their_number(lab: Lab) {
        let mut conn = lab.db.read().await.unwrap();
        let sql = "SELECT CAST($2 AS TEXT), CAST($1 AS TEXT), CAST($2 AS TEXT)";
        let row = conn.optional(sql, params!["one", "two"], |row| {
            Ok((row.text(0)?, row.text(1)?, row.text(2)?))
        }).await;

        let (first, second, third) = row.unwrap().unwrap();
        assert_eq!([first, second, third], ["two", "one", "two"]);
    }

    async fn transactions_that_take_turns_do_not_lose_updates(lab: Lab) {
        const FIND: &str = "SELECT created_at FROM workspaces WHERE id = 'w'";
        const SET: &str = "UPDATE workspaces SET created_at = $1 WHERE id = 'w'";
        let insert = "INSERT INTO workspaces (id, name, created_at) VALUES ('w', 'w', 0)";
        lab.db.write(async |mut tx| tx.execute(insert, params![]).await).await.unwrap();
        let tasks: Vec<_> = (0..64).map(|_| {
            let db = lab.db.clone();
            tokio::spawn(async move {
                db.write(async |mut tx| {
                    tx.take_turns_on("w").await?;
                    let number = tx.count(FIND, params![]).await?;
                    tx.execute(SET, params![number + 1]).await
                }).await.unwrap();
            })
        }).collect();
        for task in tasks {
            task.await.unwrap();
        }

        let mut conn = lab.db.read().await.unwrap();
        assert_eq!(conn.count(FIND, params![]).await.unwrap(), 64);
    }

    async fn a_reader_cannot_write(lab: Lab) {
        let mut conn = lab.db.read().await.unwrap();
        let outcome = conn.count("INSERT INTO workspaces (id, name, created_at)
            VALUES ('w', 'w', 0) RETURNING created_at", params![]).await;

        if lab.db.dialect() == campanile_store::db::Dialect::Sqlite {
            assert!(outcome.is_err());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transactions_under_load_share_their_commits() {
    let lab = Lab::sqlite().await;
    let (turns_before, commits_before) = lab.db.work_done().unwrap();
    let tasks: Vec<_> = (0..32)
        .map(|task| {
            let db = lab.db.clone();
            tokio::spawn(async move {
                for number in 0..50 {
                    keep(&db, &format!("{task} {number}")).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }

    let (turns, commits) = lab.db.work_done().unwrap();
    let (turns, commits) = (turns - turns_before, commits - commits_before);
    assert_eq!(turns, 1600);
    assert!(commits * 2 < turns, "{commits} commits for {turns} transactions");
}
