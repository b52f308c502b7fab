"""A role for each reply that the policies declare, for tests on a real model."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import handlers
from handlers.roles.role import Role


def _roles() -> list[Role]:
    names = (module.name for module in pkgutil.walk_packages(handlers.__path__, "handlers."))
    found = (value for name in names for value in vars(import_module(name)).values())
    return list({role.reply: role for role in found if isinstance(role, Role)}.values())


POLICY_ROLES = _roles()
