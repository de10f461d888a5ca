use super::*;

#[test]
fn a_server_keeps_its_port_over_a_crash() {
    let mut server = NatsServer::start();
    let url = server.url();
    server.kill();
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
    server.restart();
    assert_eq!(server.url(), url);
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_ok());
    assert!(server.log().contains("Server is ready"));
}

#[test]
fn the_port_is_read_from_what_the_server_writes() {
    assert_eq!(port_of(r#"{"nats":["nats://127.0.0.1:4321"]}"#), Some(4321));
    assert_eq!(port_of("{}"), None);
}
