import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Action, useAction } from '../api/action.ts';
import { useEvents } from '../api/live.ts';
import { sendJson } from '../api/request.ts';
import { type Resource, useJson } from '../api/resource.ts';
import { Button } from './button.tsx';
import { Form, TextField, type TextFieldProps } from './field.tsx';
import { ErrorState, Loaded } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

/** Items beyond which a live list forgets the oldest that came by events. */
const MAX_FRESH = 5000;

/** What was loaded after a first page, and what events brought. */
interface Pages<Answer, Item> {
  readonly of: Answer | undefined;
  readonly later: readonly Answer[];
  readonly fresh: readonly Item[];
}

/**
 * A list of the server, as far as it is loaded. Loading it again begins at the first page.
 *
 * @param path with a query
 * @param pageOf gives the items of a page, and where the next one begins
 * @param events path of new items, and the name of their events; null for a list that stays as it is
 */
export function useList<Answer, Item extends { readonly id: string | number }>(
  path: string,
  pageOf: (answer: Answer) => {
    readonly items: readonly Item[];
    readonly next: string | number | null | undefined;
  },
  events: readonly [path: string, name: string] | null = null,
) {
  const first = useJson<Answer>(path);
  const { data, reload } = first;
  const none: Pages<Answer, Item> = { of: data, later: [], fresh: [] };
  const [state, setState] = useState(none);
  const { later, fresh } = state.of === data ? state : none;
  const change = (edit: (known: Pages<Answer, Item>) => Partial<Pages<Answer, Item>>) =>
    setState((known) => {
      const current = known.of === data ? known : none;
      return { ...current, ...edit(current) };
    });
  const pages = [...(data === undefined ? [] : [data]), ...later].map(pageOf);
  const newer = new Set(fresh.map(({ id }) => id));
  const listed = pages.flatMap((page) => page.items).filter(({ id }) => !newer.has(id));
  const next = pages.at(-1)?.next;
  const older = useAction(async () => {
    const page = await sendJson(`${path}&after=${encodeURIComponent(next!)}`);
    change((known) => ({ later: [...known.later, page as Answer] }));
  });
  const add = (item: Item) =>
    change((known) => {
      const others = known.fresh.filter(({ id }) => id !== item.id);
      return { fresh: [item, ...others].slice(0, MAX_FRESH) };
    });
  useEvents(events?.[0] ?? null, events?.[1] ?? '', add, reload);
  return { ...first, path, items: [...fresh, ...listed], older, hasMore: next != null };
}

interface OlderButtonProps {
  /** Loads the page after the last element and adds it to the list. */
  readonly older: Action<[]>;
  readonly hasMore: boolean;
  /** `Show older tasks` */
  readonly children: ComponentChildren;
}

/** The button that asks for the next page of a list, or why that page did not come. */
export function OlderButton({ older, hasMore, children }: OlderButtonProps) {
  const { error, isBusy, run } = older;
  if (error) return <ErrorState error={error} onRetry={run} />;
  if (!hasMore) return null;
  return (
    <p>
      <Button onClick={() => run()} isBusy={isBusy}>
        {children}
      </Button>
    </p>
  );
}

interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly list: Pick<Resource<unknown>, 'data' | 'error' | 'reload'> & {
    readonly items: readonly Row[];
    readonly older?: Action<[]>;
    readonly hasMore?: boolean;
  };
  /** Shown in place of an empty list. */
  readonly empty: ComponentChildren;
  /** Title of the button for the next page. */
  readonly more?: string;
}

/** A list of the server as a table, and the button for its next page. */
export function PagedTable<Row>({ list, empty, more, ...table }: PagedTableProps<Row>) {
  const { items, older, hasMore = false } = list;
  return (
    <Loaded resource={list}>
      {() => (
        <>
          {items.length === 0 ? empty : <Table {...table} rows={items} />}
          {older && (
            <OlderButton older={older} hasMore={hasMore}>
              {more}
            </OlderButton>
          )}
        </>
      )}
    </Loaded>
  );
}

type LateFieldProps = Pick<TextFieldProps, 'label' | 'value' | 'placeholder' | 'onValue'>;

/** A field that gives its value when it is complete, not at each letter, since the server is asked. */
export function LateField({ value, onValue, ...rest }: LateFieldProps) {
  const [text, setText] = useState(value);
  const give = () => text.trim() !== value && onValue(text.trim());
  return (
    <Form onSubmit={give}>
      <TextField {...rest} value={text} onValue={setText} onBlur={give} />
    </Form>
  );
}
