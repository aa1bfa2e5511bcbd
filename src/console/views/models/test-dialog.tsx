import { useEffect, useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { sendJson } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Checkbox, Form, SelectField, TextField } from '../../components/field.tsx';
import { formatNumber } from '../../components/format.ts';
import { ErrorState, Loading } from '../../components/states.tsx';
import { showToast } from '../../components/toast.tsx';
import { useDeclared } from '../accounts/declared-fields.ts';
import type { Outcome } from '../accounts/lists.ts';
import { type Model, priceText, type Test } from './actions.ts';

interface TestDialogProps {
  /** Of the provider. */
  readonly name: string;
  /** The report of the test with which it was added. */
  readonly first?: Test | undefined;
  readonly models: readonly Model[];
  /** Called after a test and after each model that is offered. */
  readonly onChange: () => void;
  readonly onClose: () => void;
}

/** Tests a provider, and offers the models that the reader chooses of its list. */
export function TestDialog({ name, first, models, onChange, onClose }: TestDialogProps) {
  const [report, setReport] = useState(first);
  const [model, setModel] = useState('');
  const { error, isBusy, run } = useAction(async () => {
    const json = { name, ...(model.trim() && { model: model.trim() }) };
    setReport((await sendJson<Outcome<Test>>('v1/admin/providers/test', { json })).result);
    onChange();
  });
  useEffect(() => {
    if (!first) void run();
  }, []);
  return (
    <Dialog title={`Test of ${name}`} onClose={onClose}>
      <div class="stack">
        {isBusy && <Loading label={`Asking ${name}`} />}
        {error && <ErrorState error={error} />}
        {report && !isBusy && (
          <>
            <Result report={report} />
            {report.is_working || report.offered ? (
              <Offer {...{ name, report, models, onChange, onClose }} />
            ) : null}
            {!report.is_working && (
              <Form class="row" onSubmit={run}>
                <TextField
                  label="Model for the test"
                  value={model}
                  onValue={setModel}
                  autocomplete="off"
                />
                <Button type="submit">Test again</Button>
              </Form>
            )}
          </>
        )}
      </div>
    </Dialog>
  );
}

/** What the provider answered, in its own words. */
function Result({ report }: { readonly report: Test }) {
  const { name, is_working: isWorking, model, answer, fault, advice, milliseconds } = report;
  return (
    <div class={`notice ${isWorking ? 'good' : 'bad'}`} role={isWorking ? 'status' : 'alert'}>
      {isWorking ? (
        <p>
          {model ?? name} answered “{answer}” in {formatNumber(milliseconds)} ms.
        </p>
      ) : (
        <>
          <p>
            {name}
            {model && `, asked for ${model},`} failed: {fault}
          </p>
          {advice && <p>What to do: {advice}.</p>}
        </>
      )}
      {report.list_fault && <p class="muted">It has no list of models: {report.list_fault}</p>}
    </div>
  );
}

type OfferProps = Omit<TestDialogProps, 'first'> & { readonly report: Test };

const counted = (count: number) =>
  count === 1 ? 'Offer 1 model' : `Offer ${formatNumber(count)} models`;

/** Models that are shown of a long list; the filter finds others. */
const SHOWN = 100;

/** The models of a provider, to choose those that are offered. */
function Offer({ name, report, models, onChange, onClose }: OfferProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [filter, setFilter] = useState('');
  const [own, setOwn] = useState(report.offered ? '' : (report.model ?? ''));
  const [pricesOf, setPricesOf] = useState('');
  const [prices] = useDeclared('models/add', [{ name: 'prices_of' }]) ?? [];
  const isOffered = (model: string) =>
    models.some(({ routes }) =>
      routes.some((route) => route.provider === name && route.model === model),
    );
  const wanted = report.offered ? [...chosen] : own.split(',').map((one) => one.trim());
  const add = wanted.filter((one) => one !== '' && !isOffered(one));
  const { error, isBusy, run } = useAction(async () => {
    const free: string[] = [];
    for (const model of add) {
      // A model of another provider gets a second route.
      const isKnown = models.some((one) => one.source === 'store' && one.name === model);
      const json = { name: model, provider: name, model };
      const priced = pricesOf && !isKnown ? { prices_of: pricesOf } : {};
      const { result } = await sendJson<Outcome<{ readonly is_priced?: boolean }>>(
        `v1/admin/models/${isKnown ? 'set' : 'add'}`,
        { json: { ...json, ...priced } },
      );
      if (result.is_priced === false) free.push(model);
      onChange();
    }
    if (free.length > 0) showToast(`Free, since no price is known: ${free.join(', ')}`);
    onClose();
  });
  const found = report.offered?.filter((one) => one.name.includes(filter.trim())) ?? [];
  const toggle = (model: string) => (isChosen: boolean) => {
    const others = [...chosen].filter((one) => one !== model);
    setChosen(new Set(isChosen ? [...others, model] : others));
  };
  return (
    <Form class="stack" onSubmit={run}>
      <h3>Models to offer</h3>
      {report.offered ? (
        <>
          {report.offered.length > 10 && (
            <TextField
              label={`Find one of ${formatNumber(report.offered.length)}`}
              value={filter}
              onValue={setFilter}
              autocomplete="off"
            />
          )}
          <ul class="stack gap-s offered">
            {found.slice(0, SHOWN).map(({ name: model, price }) => (
              <li key={model}>
                <Checkbox
                  label={
                    <>
                      {model}{' '}
                      <span class="muted">
                        {isOffered(model) ? 'is offered' : priceText(price) || 'no price known'}
                      </span>
                    </>
                  }
                  checked={chosen.has(model) || isOffered(model)}
                  disabled={isOffered(model)}
                  onChecked={toggle(model)}
                />
              </li>
            ))}
          </ul>
          {found.length > SHOWN && <p class="muted">{formatNumber(found.length - SHOWN)} more</p>}
          {found.length === 0 && <p class="muted">No model has this in its name.</p>}
          {report.offered.some(({ price }) => price) && (
            <p class="muted">Prices are credits for a million tokens.</p>
          )}
        </>
      ) : (
        <TextField
          label="Names of models, separated by commas"
          value={own}
          onValue={setOwn}
          autocomplete="off"
        />
      )}
      {prices?.choices && !report.offered?.some(({ price }) => price) && (
        <SelectField
          label="List prices of"
          hint="The catalog does not know this address. Models without a price are free."
          value={pricesOf}
          choices={prices.choices}
          onValue={setPricesOf}
        />
      )}
      {error && <ErrorState error={error} />}
      <p class="row">
        <Button type="submit" kind="primary" isBusy={isBusy} disabled={add.length === 0}>
          {add.length === 0 ? 'Offer models' : counted(add.length)}
        </Button>
        <Button onClick={onClose}>Close</Button>
      </p>
    </Form>
  );
}
