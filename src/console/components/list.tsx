import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Action } from '../api/action.ts';
import type { Resource } from '../api/resource.ts';
import { Button } from './button.tsx';
import { Form, TextField, type TextFieldProps } from './field.tsx';
import { ErrorState, Loaded } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

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
