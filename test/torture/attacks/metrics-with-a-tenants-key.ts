import type { Attack } from './attack.ts';

export const metricsWithATenantsKey: Attack = {
  name: "metrics with a tenant's key",
  summary: 'the figures of all tenants asked for with the key of one',
  async run(attacker) {
    await attacker.ask({ path: '/metrics', key: attacker.key }, [401, 403, 404, 429]);
  },
};
