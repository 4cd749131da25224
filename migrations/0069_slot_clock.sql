-- An element that has not started has no times of its node. Those that it had taken over from the one before it are dropped.
update rota.allocation set boot_at = null where phase = 'ordered' and boot_at is not null and ended_at is null;
