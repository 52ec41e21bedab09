"""Hyper-Connections whose weights are the same for every token (Zhu et al. 2024, section 2.1; arXiv 2409.19606)."""

from __future__ import annotations

from perlayer.model.residual import hyper_connections
from perlayer.model.residual.hyper_connections import StaticConnection


class Design(hyper_connections.Design):
    """Hyper-Connections without their dynamic part."""

    connection = StaticConnection
