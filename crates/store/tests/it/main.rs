use campanile_store::{Db, StoreError, db::Location, params};

fn sent<T: Send>(future: T) -> T {
    future
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn group() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&Location::Sqlite(folder.path().join("a.db"))).await.unwrap();
    let name = String::from("x");
    sent(db.write(async |mut tx| {
        tx.execute("CREATE TABLE t (a TEXT, b BIGINT)", params![]).await?;
        tx.execute("INSERT INTO t VALUES ($1, $2)", params![&name, 3]).await?;
        Ok::<_, StoreError>(())
    }))
    .await
    .unwrap();
    let started = std::time::Instant::now();
    let tasks: Vec<_> = (0..32)
        .map(|n| {
            let db = db.clone();
            tokio::spawn(async move {
                for _ in 0..500 {
                    let text = format!("{n}");
                    db.write(async |mut tx| {
                        tx.execute("INSERT INTO t VALUES ($1, $2)", params![&text, n]).await?;
                        Ok::<_, StoreError>(())
                    })
                    .await
                    .unwrap();
                }
            })
        })
        .collect();
    for t in tasks {
        t.await.unwrap();
    }
    println!("{:?} per s", 16000.0 / started.elapsed().as_secs_f64());
    let mut conn = db.read().await.unwrap();
    assert_eq!(conn.count("SELECT count(*) FROM t", params![]).await.unwrap(), 16001);
}
