import type { Attack } from './attack.ts';

export const metricsWithATenantsKey: Attack = {
  name: "metrics with a tenant's key",
  summary: 'a request for /metrics with the key of a tenant',
  async run(attacker) {
    await attacker.ask({ path: '/metrics', key: attacker.key }, [401, 403, 404, 429]);
  },
};
