"""Programs on `torch._higher_order_ops` (``ho``), each an expression; `p` requires grad."""

from __future__ import annotations

from typing import Any

PROGRAMS = [
    "torch.cond(T(True), lambda x: x.sin(), lambda x: x.cos(), (x,))",
    "torch.cond(T([True, False]), lambda x: x.sin(), lambda x: x.cos(), (x,))",
    "torch.cond('a', lambda x: x.sin(), lambda x: x.cos(), (x,))",
    "torch.cond(T(True), 3, lambda x: x.cos(), (x,))",
    "torch.cond(T(True), lambda x: x, lambda x: x.cos(), (3,))",
    "torch.cond(T(True), lambda x: x, lambda x: x.cos(), 3)",
    "torch.cond(True, lambda x: T(x), lambda x: x.cos(), (3,))",
    "torch.cond(T(False), lambda x: {'a': x['b'][0] + 1}, lambda x: {'a': x['b'][0] - 1}, ({'b': [x]},))['a']",
    "ho.while_loop(lambda i, x: i.sum() < 3, lambda i, x: (i + 1, x * 2), (torch.zeros(1), x))[1]",
    "ho.while_loop(3, lambda i, x: (i + 1, x * 2), (torch.zeros(1), x))",
    "ho.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, x))[1]",
    "ho.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), ('a', x))",
    "ho.while_loop(lambda i, x: i['a'].sum() < 3, lambda i, x: ({'a': i['a'] + 1}, x * 2), ({'a': T([0.0])}, x))[1]",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(1), torch.arange(4.0))[0]",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(1), torch.arange(4.0))[1]",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(2), torch.arange(6.0).view(2, 3), dim=1, reverse=True)[1]",
    "ho.scan(lambda c, x: ({'a': c['a'] + x[0]}, [c['a'] * x[1]]), {'a': torch.zeros(1)}, (x, x))[1][0]",
    "ho.scan(3, torch.zeros(1), torch.arange(4.0))",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(1), torch.arange(4.0), dim='a')",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(1), torch.arange(4.0), dim=3)",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(1), torch.arange(4.0), reverse=1)",
    "ho.scan(lambda c, x: (c + x, c * x), [], torch.arange(4.0))",
    "ho.scan(lambda c, x: (c + x, c * x), 3, torch.arange(4.0))",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(1), [torch.arange(4.0), 3])",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(1), torch.zeros(0))",
    "ho.scan(lambda c, x: (c + x, c * x), torch.zeros(1), [])[0]",
    "ho.associative_scan(lambda a, b: a + b, torch.arange(5.0), 0, combine_mode='generic')",
    "ho.associative_scan(lambda a, b: a + b, torch.arange(1.0), 0, combine_mode='generic')",
    "ho.associative_scan(lambda a, b: a @ b, torch.arange(12.0).view(3, 2, 2), 0, True, combine_mode='generic')",
    "ho.associative_scan(lambda a, b: {'x': a['x'] + b['x']}, {'x': x.view(1, 3)}, 1, combine_mode='generic')['x']",
    "ho.associative_scan(lambda a, b: a + b, torch.arange(5.0), 0)",
    "ho.associative_scan(3, torch.arange(5.0), 0, combine_mode='generic')",
    "ho.associative_scan(lambda a, b: a + b, torch.arange(5.0), 1, combine_mode='generic')",
    "ho.associative_scan(lambda a, b: a + b, torch.arange(5.0), 0, combine_mode='x')",
    "ho.associative_scan(lambda a, b: a + b, torch.zeros(0), 0, combine_mode='generic')",
    "ho.associative_scan(lambda a, b: a + b, torch.zeros(3), 0, 1, combine_mode='generic')",
    "ho.map(lambda x: x + 1, torch.arange(3.0))",
    "ho.map(lambda x, y: (x + y, x * y), torch.arange(3.0), torch.ones(2))[1]",
    "ho.map(lambda x, y: {'a': x['b'] + y}, {'b': torch.arange(3.0)}, torch.ones(2))['a']",
    "ho.map(lambda x: x + 1, [torch.arange(3.0), torch.arange(4.0)])",
    "ho.map(lambda x: x + 1, torch.zeros(0))",
    "ho.map(lambda x: x + 1, 3)",
    "slope(torch.cond(T(True), lambda x: x.sin(), lambda x: x.cos(), (p,)))",
    "slope(ho.scan(lambda c, x: (c * x, (c + x).sin()), torch.ones(()), p)[1])",
    "slope(ho.map(lambda x: x.sin(), p))",
    "slope(ho.associative_scan(lambda a, b: a * b, p, 0, combine_mode='generic'))",
    "slope(ho.while_loop(lambda i, x: i.sum() < 3, lambda i, x: (i + 1, x.sin()), (torch.zeros(1), p))[1])",
    "torch.vmap(lambda q: torch.cond(q, lambda x: x.sin(), lambda x: x.cos(), (x,)))(T([True, False]))",
]


def outcome(torch: Any, ho: Any, program: str) -> Any:
    """Numbers in lists, or the type and the words of the error."""
    p = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def slope(y: Any) -> Any:
        return torch.autograd.grad(y.sum(), p)[0]

    names = {"torch": torch, "ho": ho, "T": torch.tensor, "x": torch.ones(3), "p": p, "slope": slope}
    try:
        return eval(program, names).tolist()  # noqa: S307 - the programs are those above
    except Exception as error:  # noqa: BLE001 - errors are what is compared
        return f"{type(error).__name__}: {error}"
