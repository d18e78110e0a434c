//! One plain HTTP request at a time, for everything that is not load.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use crate::Outcome;

const PATIENCE: Duration = Duration::from_secs(5);

/// The status and body of a GET.
pub(crate) fn get(address: SocketAddr, path: &str, key: Option<&str>) -> Outcome<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let credential = key.map_or(String::new(), |key| format!("x-api-key: {key}\r\n"));
    let head =
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{credential}connection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    read(&answer).ok_or_else(|| format!("GET {path} got no usable answer").into())
}

/// The body of a GET that must succeed.
pub(crate) fn body(address: SocketAddr, path: &str, key: &str) -> Outcome<Vec<u8>> {
    match get(address, path, Some(key))? {
        (200, body) => Ok(body),
        (status, body) => {
            let body = String::from_utf8_lossy(&body).into_owned();
            Err(format!("GET {path} answered {status}: {body}").into())
        }
    }
}

fn read(answer: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let body = &answer[end + 4..];
    (length? == body.len()).then(|| (status, body.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_only_when_it_is_whole() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

        assert_eq!(read(whole), Some((200, b"hi".to_vec())));
        assert_eq!(read(&whole[..whole.len() - 1]), None);
        assert_eq!(read(b"HTTP/1.1 200 OK\r\n\r\nhi"), None);
    }
}
