import { useEffect, useRef } from 'preact/hooks';
import type { Model } from '../../api/resource.ts';
import type { Session } from '../../api/session.ts';
import { Table } from '../../components/table.tsx';
import { bodyOf, type Endpoint, parametersOf } from './document.ts';
import { exampleOf } from './draft.ts';
import { defaultText, fieldsOf, type ShownField, typeText } from './schema.ts';
import { Trial } from './trial.tsx';

interface EndpointViewProps {
  readonly endpoint: Endpoint;
  readonly isOpen: boolean;
  readonly onToggle: (isOpen: boolean) => void;
  readonly session: Session | null;
  readonly models: readonly Model[];
}

/** One endpoint: a line, and below it its fields and an example once it is open. */
export function EndpointView({ endpoint, isOpen, onToggle, session, models }: EndpointViewProps) {
  const { method, path, summary, security } = endpoint;
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isOpen) details.current!.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  return (
    <details
      ref={details}
      class="endpoint"
      open={isOpen}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== isOpen) onToggle(currentTarget.open);
      }}
    >
      <summary>
        <span class={`method ${method.toLowerCase()}`}>{method}</span>
        <code>{path}</code>
        <span class="summary">{summary}</span>
        {security?.length === 0 && <span class="badge">no key</span>}
      </summary>
      {isOpen && <Content {...{ endpoint, session, models }} />}
    </details>
  );
}

type ContentProps = Pick<EndpointViewProps, 'endpoint' | 'session' | 'models'>;

function Content({ endpoint, session, models }: ContentProps) {
  const { description } = endpoint;
  const body = bodyOf(endpoint);
  const parameters = parametersOf(endpoint);
  return (
    <div class="stack content">
      {description && <p>{withCode(description)}</p>}
      <Trial endpoint={endpoint} example={exampleOf(endpoint, models)} session={session} />
      {parameters.length > 0 && <Fields caption="Parameters" fields={parameters} />}
      {body && <Fields caption="Fields of the body" fields={fieldsOf(body.content.schema)} />}
    </div>
  );
}

/** A text whose parts between backticks are code. */
function withCode(text: string) {
  return text.split('`').map((part, index) => (index % 2 === 0 ? part : <code>{part}</code>));
}

interface FieldsProps {
  readonly caption: string;
  readonly fields: readonly ShownField[];
}

function Fields({ caption, fields }: FieldsProps) {
  return (
    <Table
      caption={caption}
      showCaption
      rows={fields}
      keyOf={({ name }) => name}
      columns={[
        [
          'Name',
          ({ name, isRequired }) => (
            <>
              <code>{name}</code>
              {isRequired && <span class="required"> required</span>}
            </>
          ),
        ],
        ['Type', ({ schema }) => typeText(schema)],
        ['Default', ({ schema }) => defaultText(schema)],
        ['Meaning', ({ description }) => withCode(description)],
      ]}
    />
  );
}
