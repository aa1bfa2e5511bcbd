import type { ConfigEntry } from '../../../config-entry.ts';
import type { Store } from '../../../store.ts';
import { compositeKey, type State } from '../state/state.ts';
import type { Records } from './records.ts';

/** The methods for providers and models that commands have added. */
export function configMethods(records: Records) {
  return {
    listConfigEntries: () => records.readRows(() => entriesOf(records.state)),
    async changeConfigEntry(kind, name, change) {
      const { state } = records;
      const next = change(entriesOf(state));
      const { config, configByName } = state;
      const order = configByName.order(compositeKey(kind, name));
      const before = order === undefined ? undefined : config.rows.get(order);
      await records.change(({ changes }) => {
        changes.push(['config', order ?? config.newOrder(), next]);
      });
      return (next ?? before)!;
    },
  } satisfies Partial<Store>;
}

/** In the order of creation: a start reads rows that changed lately last. */
function entriesOf({ config }: State): readonly ConfigEntry[] {
  return [...config.rows].sort(([one], [other]) => one - other).map(([, row]) => row);
}
