import socket

import pytest

from server.supervisor.ports import can_listen, free_ports


def test_ports_are_different_free_and_outside_of_what_workers_take() -> None:
    ports = free_ports(9)
    assert len(set(ports)) == 9
    assert all(20_000 <= port < 32_000 for port in ports)
    assert all(can_listen("127.0.0.1", port) for port in ports)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_port_on_which_somebody_listens_is_not_free(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert not can_listen(host, other.getsockname()[1])


def test_connections_that_linger_after_their_server_leave_the_port_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with socket.create_connection(address) as client:
            accepted, _ = server.accept()
            accepted.close()  # The side that closes first lingers.
            assert client.recv(1) == b""
    assert can_listen(*address)


def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    assert not can_listen("203.0.113.1", 0)
