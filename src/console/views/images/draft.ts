import { useEffect, useRef } from 'preact/hooks';
import { keepFirst, readKept } from '../../api/storage.ts';
import type { Values } from '../../components/form-field.ts';
import { open, type Place } from '../../components/navigation.tsx';
import { type Draft, isShared, type Operation, placeOf, valuesOf } from './operations.ts';
import type { ImagesStore } from './store.ts';

/** Milliseconds after the last key before the address changes: browsers limit changes of it. */
const ADDRESS_MS = 300;

/** Key of the session storage for values of an account that are too long for the address. */
const keyOf = ({ account }: ImagesStore) => `oriel.images.1.${account}`;

const addressOf = ({ rest, query }: Pick<Place, 'rest' | 'query'>): string => `${rest}?${query}`;

interface Kept {
  readonly address: string;
  readonly values: Values;
}

/** The values of an address, with the long ones that a reload would lose. */
function readValues(store: ImagesStore, operation: Operation, place: Place): Values {
  const values = valuesOf(operation, place.query);
  const kept = readKept<Kept>(keyOf(store));
  return kept?.address === addressOf(place) ? { ...values, ...kept.values } : values;
}

/**
 * The options of an operation, which the address states. The store keeps them while another view is open.
 *
 * @returns the draft and a function that changes it
 */
export function useDraft(
  store: ImagesStore,
  operation: Operation,
  place: Place,
): readonly [Draft, (change: Partial<Draft>) => void] {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const address = addressOf(place);
  useEffect(() => () => clearTimeout(timer.current), [address]);
  const { drafts } = store;
  const isBare = address === '?';
  if ((store.address !== address && !isBare) || !drafts.has(operation.name)) {
    // The reader came by a link, or went back.
    store.address = address;
    const files = drafts.get(operation.name)?.files ?? {};
    drafts.set(operation.name, { values: readValues(store, operation, place), files });
  }
  const draft = drafts.get(operation.name)!;
  const change = (changed: Partial<Draft>) => {
    const next = { ...draft, ...changed };
    store.changeDraft(operation.name, next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const to = placeOf(operation, next.values);
      store.address = addressOf({
        rest: operation.name,
        query: new URLSearchParams(to.split('?')[1]),
      });
      // Without storage, a reload loses long values.
      const kept = isShared(next.values) ? null : { address: store.address, values: next.values };
      keepFirst(keyOf(store), [kept]);
      open(to, { replace: true });
    }, ADDRESS_MS);
  };
  return [draft, change];
}
