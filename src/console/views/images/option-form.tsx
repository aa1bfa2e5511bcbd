import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Form, SelectField } from '../../components/field.tsx';
import { faultsOf } from '../../components/form-field.ts';
import { FormFields, focusFault } from '../../components/form-fields.tsx';
import { open } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { commandOf, requestOf } from './commands.ts';
import { fieldsOf } from './form.ts';
import { type Draft, isShared, labelOf, type Operation, placeOf, valuesOf } from './operations.ts';
import { type ImagesState, type ImagesStore, isBusy, jobOf } from './store.ts';

interface OptionFormProps {
  readonly store: ImagesStore;
  readonly state: ImagesState;
  readonly all: readonly Operation[];
  readonly operation: Operation;
  readonly draft: Draft;
  readonly onDraft: (change: Partial<Draft>) => void;
}

/** The choice of an operation, its options, and the button that runs it. */
export function OptionForm({ store, state, all, operation, draft, onDraft }: OptionFormProps) {
  const { items, halt } = state;
  const [isTried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const job = jobOf(operation, draft);
  const fields = fieldsOf(operation, all);
  const faults = faultsOf(fields, draft.values);
  const refused = halt?.status === 400 ? halt : null;
  useEffect(() => setTried(false), [operation]);
  useEffect(() => {
    if (refused) focusFault(form.current!);
  }, [refused]);
  const choose = (name: string) => {
    const chosen = all.find((one) => one.name === name)!;
    const values = store.drafts.get(name)?.values ?? valuesOf(chosen, new URLSearchParams());
    open(placeOf(chosen, values));
  };
  const paths = items.map(({ path }) => path);
  const isRunning = items.some(isBusy);
  const due = items.filter((item) => item.result?.job.key !== job.key);
  const ids = (due.length > 0 ? due : items).map(({ id }) => id);
  const run = () => {
    setTried(true);
    if (Object.keys(faults).length > 0) focusFault(form.current!);
    else store.start(job, ids);
  };
  const textOf = (name: string) => (draft.values[name] ?? '').trim();
  const errorOf = (name: string) => {
    if (refused?.param === name) return refused.message.replace(`${name}: `, '');
    return textOf(name) === '' && !isTried ? undefined : faults[name];
  };
  return (
    <Form class="card options" ref={form} onSubmit={run} noValidate aria-label="Options">
      <SelectField
        label="Operation"
        hint={`${operation.summary}.`}
        value={operation.name}
        choices={all.map(({ name }) => [name, labelOf(name)] as const)}
        onValue={choose}
      />
      <FormFields
        key={operation.name}
        class="fields"
        more="More options of the output"
        fields={fields}
        {...draft}
        errorOf={errorOf}
        isUsed={fields.some(({ name, isRare }) => isRare && textOf(name) !== '')}
        onValues={(changed) => onDraft({ values: { ...draft.values, ...changed } })}
        onFiles={(changed) => onDraft({ files: { ...draft.files, ...changed } })}
      />
      {!isShared(draft.values) && (
        <p class="hint">This text is too long for the address, so the address does not share it.</p>
      )}
      <FromProgram
        what="The same"
        request={requestOf(job, paths)}
        others={[['Command line', commandOf(job, paths)]]}
      />
      <div class="row action-bar run">
        <Button kind="primary" type="submit" disabled={items.length === 0} isBusy={isRunning}>
          {runLabel(ids.length, due.length > 0)}
        </Button>
        {isRunning && <Button onClick={() => store.stop()}>Stop</Button>}
        {items.length === 0 && <span class="hint">Add an image first.</span>}
      </div>
    </Form>
  );
}

function runLabel(count: number, isDue: boolean): string {
  if (count === 0) return 'Run';
  const files = count === 1 ? '1 image' : `${count} images`;
  return isDue ? `Run on ${files}` : `Run again on ${files}`;
}
