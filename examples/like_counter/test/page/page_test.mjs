// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// page_test.mjs CHROMIUM DEMO PICTURES: starts `demo.sh --page`, opens its page in a browser, presses its
// buttons, and checks what it shows. Keeps screenshots in the folder PICTURES.

import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdirSync} from 'node:fs';
import {request} from 'node:http';
import {join} from 'node:path';

import {Browser} from './browser.mjs';

const [chromium, demo, pictures] = process.argv.slice(2);
mkdirSync(pictures, {recursive: true});

// --- The demo.

const show = spawn(demo, ['--page'], {stdio: ['ignore', 'pipe', 'inherit']});
const showEnded = new Promise(resolve => show.once('close', resolve));

function addressOfPage() {
    return new Promise((resolve, reject) => {
        let text = '';
        show.stdout.setEncoding('utf8');
        show.stdout.on('data', data => {
            text += data;
            const found = text.match(/^page: (\S+)\n/m);
            if (found) resolve(found[1]);
        });
        show.once('close', () => reject(new Error(`demo.sh has ended: ${text}`)));
    });
}

function statusOf(url, method, headers) {
    return new Promise((resolve, reject) => {
        request(url, {method, headers, agent: false}, answer => { answer.resume(); resolve(answer.statusCode); })
            .on('error', reject).end(method === 'POST' ? '{}' : undefined);
    });
}

// --- Functions that run in the page.

const textOf = id => document.getElementById(id).textContent;
const figures = () => ['accepted', 'counted', 'members'].map(id => Number(document.getElementById(id).textContent.replaceAll(',', '')));
const bannerHas = words => document.getElementById('banner').textContent.includes(words);
const verdictIs = wanted => document.getElementById('verdict').dataset.verdict === wanted;
const stateOf = (server, state) => document.querySelector(`#servers [data-key="${server}"]`).cells[1].textContent.startsWith(state);
const columnSum = (table, column) => [...document.querySelectorAll(`#${table} tr`)]
    .reduce((sum, row) => sum + Number(row.querySelector(`[data-column="${column}"]`).textContent.replaceAll(',', '')), 0);
const cellHas = (table, row, column, part) =>
    document.querySelector(`#${table} [data-key="${row}"] [data-column="${column}"]`).textContent.includes(part);
const nothingInUse = () => document.getElementById('leases').textContent === 'No lock is held or waited for.' &&
    document.getElementById('in-use').textContent === '0 held, 0 waiting';
// The marks of the time line have titles.
const hasMark = (kind, part) => [...document.querySelectorAll(`#line path.mark.${kind} title`)].some(title => title.textContent.includes(part));
const logHas = (kind, part) => [...document.querySelectorAll(`#log .${kind}`)].some(line => line.textContent.includes(part));

// Some values are on the page for a second only. This keeps what the page shows from now on, after each event.
const record = () => {
    const ids = ['likes-rate', 'acquires-rate', 'p50', 'p50-range', 'p99', 'p99-range'];
    const cells = body => [...document.getElementById(body).rows].filter(row => row.dataset.key)
        .map(row => Object.fromEntries([...row.cells].map(cell => [cell.dataset.column ?? 'name', cell.innerText])));
    window.recorder?.disconnect();
    window.recorded = [];
    window.recorder = new MutationObserver(() => window.recorded.push({
        ...Object.fromEntries(ids.map(id => [id, document.getElementById(id).textContent])), leases: cells('leases'), servers: cells('servers')
    }));
    window.recorder.observe(document.querySelector('main'), {subtree: true, childList: true, characterData: true});
};
const recorded = () => window.recorded;

// Text that is too faint: its contrast is below 4.5, or 3 for large text (WCAG AA). Controls that are
// switched off may be.
const faintTexts = () => {
    const channels = colour => colour.match(/[\d.]+/g).map(Number);
    const light = colour => channels(colour).slice(0, 3).map(value => value / 255)
        .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = element => {
        for (let at = element; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if ((channels(colour)[3] ?? 1) > 0) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const faint = [];
    for (const element of document.querySelectorAll('main *')) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        if (!own || !element.getClientRects().length || element.closest(':disabled, [aria-hidden=true], title')) continue;
        const style = getComputedStyle(element);
        const [high, low] = [light(element.closest('svg') ? style.fill : style.color), light(ground(element))].sort((a, b) => b - a);
        const size = parseFloat(style.fontSize);
        const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        if ((high + 0.05) / (low + 0.05) < least) faint.push(`${element.textContent.trim().slice(0, 40)}: ${((high + 0.05) / (low + 0.05)).toFixed(2)}`);
    }
    return faint;
};

// What a narrow window hides or cuts.
const lost = () => {
    const wrong = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) wrong.push(`the page is ${document.documentElement.scrollWidth} wide`);
    for (const table of document.querySelectorAll('table')) {
        const columns = table.tHead.rows[0].cells.length;
        for (const row of table.tBodies[0].rows) {
            const cells = [...row.cells];
            if (cells.length !== columns && !cells[0].classList.contains('empty')) wrong.push(`${row.dataset.key}: ${cells.length} cells`);
            for (const cell of cells) {
                const box = cell.getBoundingClientRect();
                if (box.width < 1 || box.height < 1) wrong.push(`hidden: ${row.dataset.key}, ${cell.dataset.column}`);
            }
        }
    }
    for (const element of document.querySelectorAll('main *:not(svg *)')) {
        const box = element.getBoundingClientRect();
        if (box.width > 1 && box.right > width + 0.5 && !element.closest('thead')) wrong.push(`too far right: ${element.tagName} ${element.textContent.slice(0, 30)}`);
    }
    return wrong;
};

// The time line is drawn with the next event.
const isDrawnAt = width => {
    const line = document.getElementById('line');
    return line.viewBox.baseVal.width === line.clientWidth && innerWidth === width;
};

const structure = () => ({
    mains: document.querySelectorAll('main').length,
    headings: document.querySelectorAll('h1').length,
    language: document.documentElement.lang,
    tables: document.querySelectorAll('table').length,
    captions: [...document.querySelectorAll('table')].map(table => table.caption?.textContent ?? ''),
    twice: [...document.querySelectorAll('[id]')].map(one => one.id).filter((id, i, all) => all.indexOf(id) !== i)
});

// --- The test.

async function checkButtons(page) {
    await page.until('quorum', bannerHas, 'Quorum reached. 5 of 5 lock servers ready, 3 needed.');
    const lede = await page.run(() => document.querySelector('.lede').textContent);
    assert.match(lede, /^[^.]*\block\b[^.]*\.$/, 'one sentence says why the lock matters');
    await page.press('#form button[value=like]');
    await page.until('a like counts', () => document.getElementById('accepted').textContent === '1');
    await page.press('#form button[value=unlike]');
    await page.until('it is taken back', () => document.getElementById('accepted').textContent === '0');

    await page.run(record);
    await page.press('#burst');
    await page.until('the burst is over', () => /^1000 people liked/.test(document.getElementById('message').textContent));
    await page.until('the count is right', verdictIs, 'right');
    assert.deepEqual(await page.run(figures), [1000, 1000, 1000]);
    assert.match(await page.run(textOf, 'finding'), /The count is right/);
    // The like, the one taken back, and the click of each person at each service. The page itself adds
    // nothing.
    const sumOf = column => page.run(columnSum, 'services', column);
    await page.wait('only likes are counted', async () => await sumOf('likes') === 2002);
    await page.wait('requests are over', async () => await sumOf('in flight') === 0);
    // On a slow machine, a like may be refused although it has the lock, because too little of the ttl is left. It
    // is sent again, and takes the lock again.
    await page.wait('each like has taken the lock', async () => await sumOf('acquired') >= 2002);
    await page.until('no lock is in use', nothingInUse);
    await page.until('no wait in the last second', () => document.getElementById('p99').textContent === '–');
    await page.until('no like in the last second', () => ['likes-rate', 'acquires-rate'].every(id => document.getElementById(id).textContent === '0'));
    checkFigures(await page.run(recorded));
    assert.deepEqual(await page.run(sparklines), {'likes-spark': [true], 'acquires-spark': [true], 'p50-spark': [true, true], 'p99-spark': [true, true]});
}

// Whether each line of each sparkline has left the ground.
const sparklines = () => Object.fromEntries([...document.querySelectorAll('.figure svg')].map(svg =>
    [svg.id, [...svg.querySelectorAll('polyline')].map(line => [...line.points].some(point => point.y < 31))]));

function checkFigures(shown) {
    const value = text => Number(text.replace(/^[≈≤>] /, '').replaceAll(',', ''));
    const milliseconds = bound => value(bound.split(' ')[0]) * (bound.endsWith(' ms') ? 1 : 1000);
    for (const rate of ['likes-rate', 'acquires-rate']) {
        assert.ok(shown.some(one => value(one[rate]) > 0), `${rate} was above 0`);
    }
    for (const share of ['p50', 'p99']) {
        assert.ok(shown.some(one => /^[≈≤>] /.test(one[share])), `${share} was shown`);
        for (const one of shown) {
            const text = `${share}: ${one[share]}, ${one[share + '-range']}`;
            const between = /^between (.*) and (.*)$/.exec(one[share + '-range']);
            if (one[share].startsWith('≈')) {
                assert.ok(between && value(one[share]) >= milliseconds(between[1]) && value(one[share]) <= milliseconds(between[2]), text);
            } else {
                assert.equal(one[share + '-range'], one[share] === '–' ? 'no waits in the last second' : 'not measured more exactly', text);
            }
        }
    }
    for (const one of shown.filter(one => one.p50 !== '–')) assert.ok(value(one.p99) >= value(one.p50), `${one.p50}, ${one.p99}`);
}

// What the services rarely report, as the page shows it.
async function checkRareValues(page) {
    const found = await page.run(() => {
        const shown = {};
        for (const [name, value] of Object.entries({
            first: {ms: 0.1, from_ms: 0, to_ms: 0.1}, last: {ms: 60000, from_ms: 60000, to_ms: null}, some: {ms: 1500, from_ms: 1000, to_ms: 2000}
        })) {
            percentile('p50', value);
            shown[name] = ['p50', 'p50-range'].map(id => document.getElementById(id).textContent);
        }
        const lost = {name: 'like:x', holder: 'web-1:7', holders: 2, fence: null, age_ms: 1500, is_lost: true, answers: '1 of 5 instances confirmed'};
        const waits = {name: 'like:y', waiters: 3, longest_ms: 12.3, answers: 'no quorum'};
        leaseRows({services: [{
            name: 'service 1', process: 'running', silent_ms: 0,
            report: {in_use: {leases: [lost], waiting: [waits], all_leases: 30, all_waiters: 3}}
        }]});
        shown.rows = [...document.getElementById('leases').rows].map(row => [...row.cells].map(cell => cell.innerText.split('\n')));
        shown.total = document.getElementById('in-use').textContent;
        return shown;
    });
    assert.deepEqual(found, {
        first: ['≤ 0.10', 'not measured more exactly'], last: ['> 60,000', 'not measured more exactly'], some: ['≈ 1,500', 'between 1 s and 2 s'],
        rows: [
            [['like:x'], ['service 1', 'web-1:7'], ['lost, 2 holders', '1 of 5 instances confirmed'], ['1.5 s'], ['–'], ['0']],
            [['like:y'], ['–'], ['waited for', 'no quorum'], ['–'], ['–'], ['3', 'longest wait 12 ms']]
        ],
        total: '30 held, 3 waiting; the oldest are shown'
    });
}

// Only the page's own script may run.
async function checkPolicy(page) {
    assert.ok(!await page.run(() => {
        document.head.append(Object.assign(document.createElement('script'), {textContent: 'window.isForeign = true'}));
        return window.isForeign;
    }), 'a foreign script is stopped');
    const complains = text => text.includes('Content Security Policy');
    await page.wait('the browser says so', () => page.complaints.some(complains));
    page.complaints = page.complaints.filter(text => !complains(text));
}

async function checkServers(page) {
    await page.run(record);
    assert.deepEqual(await page.run(() => [...document.querySelectorAll('#lanes > span')].map(lane => lane.textContent)),
        ['likes a second', 'lock 1', 'lock 2', 'lock 3', 'lock 4', 'lock 5', 'service 1', 'service 2', 'events', '']);
    const times = await page.run(() => [...document.querySelectorAll('#line text')].map(label => label.textContent));
    assert.deepEqual([times[0], times.at(-1)], ['now', '−120 s']);
    await page.until('lock 1 has its node', cellHas, 'servers', 'lock 1', 'nodes', 'master ready');
    await page.press('#servers [aria-label="Kill lock 1"]');
    await page.until('lock 1 is down', stateOf, 'lock 1', 'down');
    await page.until('4 of 5', bannerHas, 'Quorum reached. 4 of 5');
    for (const name of ['lock 2', 'lock 3']) {
        await page.press(`#servers [aria-label="Stop ${name}"]`);
        await page.until(`${name} is down`, stateOf, name, 'down');
    }
    await page.until('no quorum', bannerHas, 'No quorum. 2 of 5');
    await page.until('the reason is shown', () => document.querySelector('#servers [data-key="lock 1"] [data-column=reason]').textContent.length > 5);
    await page.until('the faults are in the time line', `() => (${hasMark})('fault', 'lock 1 killed') && (${hasMark})('fault', 'lock 3 stopped') &&
        (${logHas})('fault', 'lock 3 stopped') && document.querySelectorAll('#line rect.down').length >= 3`);
    await page.keepPicture(join(pictures, 'no_quorum_1280.png'));
    for (const name of ['lock 2', 'lock 3']) await page.press(`#servers [aria-label="Resume ${name}"]`);
    await page.press('#servers [aria-label="Restart lock 1"]');
    await page.until('all are ready', bannerHas, 'Quorum reached. 5 of 5');
    await page.until('the repair is in the time line', hasMark, 'repair', 'lock 1 restarted');
    const quarantines = (await page.run(recorded)).flatMap(one => one.servers)
        .filter(server => server.name.startsWith('lock 1') && server.state === 'quarantined' && / s left$/.test(server.quarantine));
    assert.ok(quarantines.length, 'lock 1 was quarantined');
    assert.ok(quarantines.every(server => parseFloat(server.quarantine) <= 4 && server.reason.length > 5), JSON.stringify(quarantines));
}

async function checkFreeze(page) {
    const columns = ['late writes refused', 'leases lost', 'held too long'];
    const before = new Map();   // A slow machine may have lost leases already.
    for (const column of columns) before.set(column, await page.run(columnSum, 'services', column));
    await page.run(record);
    await page.press('#freeze');
    // The picture needs a quick machine, because the freeze ends with the ttl. What was shown is recorded.
    await page.until('the waiter is shown, or the freeze is over', () => !document.querySelector('[data-waits]') ||
        document.querySelector('#leases [data-column=waiters]')?.textContent.startsWith('1'));
    await page.keepPicture(join(pictures, 'frozen_1280.png'));
    await page.until('the freeze is over', () => !document.querySelector('[data-waits]'));
    assert.match(await page.run(textOf, 'message'), /Refused \(stale\)/, 'the late write is refused');
    for (const column of columns) {
        await page.wait(`it is counted: ${column}`, async () => await page.run(columnSum, 'services', column) === before.get(column) + 1);
    }
    await page.until('it is in the time line', hasMark, 'loss', 'service 1 had a late write refused');
    assert.ok(await page.run(hasMark, 'fault', 'service 1 frozen with the lock'));
    await page.until('no lock is in use', nothingInUse);
    await page.until('the count is right', verdictIs, 'right');
    assert.deepEqual(await page.run(figures), [1001, 1001, 1001]);

    const frozen = (await page.run(recorded)).flatMap(one => one.leases).filter(lease => lease.holder.startsWith('service 1, frozen'));
    assert.ok(frozen.length, 'the holder was shown');
    assert.ok(frozen.some(lease => lease.waiters.startsWith('1')), 'the waiter was shown');
    const ages = frozen.map(lease => lease.age).map(age => parseFloat(age) * (age.endsWith(' ms') ? 1 : 1000));
    assert.ok(Math.max(...ages) > Math.min(...ages), `the age grows: ${ages}`);
    for (const lease of frozen) {
        assert.match(lease.name, /^like:show....\.post-1$/);
        assert.match(lease.holder, /^service 1, frozen\n\S+:\d+$/, 'with the label');
        assert.equal(lease.state, 'held');
        assert.match(lease.fence, /^\d+$/);
        assert.match(lease.waiters, /^(0|1\nlongest wait [\d.]+ m?s)$/);
    }
}

async function checkWithoutLocks(page) {
    await page.press('#locking');
    await page.until('locks are off', bannerHas, 'Locks are off');
    let wrong = false;
    for (let tries = 0; tries < 10 && !wrong; ++tries) {   // The services have to meet.
        const [before] = await page.run(figures);
        await page.press('#burst');
        await page.until('the burst is counted', before => Number(document.getElementById('accepted').textContent.replaceAll(',', '')) >= before + 1000 &&
            document.getElementById('verdict').dataset.verdict !== 'open', before);
        wrong = await page.run(verdictIs, 'wrong');
    }
    assert.ok(wrong, 'without locks, the count becomes wrong');
    const [, counted, members] = await page.run(figures);
    assert.ok(counted > members, `${counted} counted, ${members} members`);
    await page.until('no lock is in use', nothingInUse);
    await page.until('there are no waits', () => ['p50', 'p99'].every(id => document.getElementById(id).textContent === '–'));
    assert.match(await page.run(textOf, 'finding'), /The count is wrong/);
    await page.keepPicture(join(pictures, 'wrong_1280.png'));
    await page.press('#locking');
    await page.until('locks are on', bannerHas, 'Quorum reached');
    await page.press('#new-post');
    await page.until('a new post', () => document.getElementById('finding').textContent === 'No like yet.');
    await page.press('#burst');
    await page.until('the count is right again', () => document.getElementById('accepted').textContent === '1,000' &&
        document.getElementById('verdict').dataset.verdict === 'right');
}

async function checkAccess(page) {
    const {captions, ...found} = await page.run(structure);
    assert.deepEqual(found, {mains: 1, headings: 1, language: 'en', twice: [], tables: 3});
    assert.ok(captions.every(Boolean), 'each table has a caption');
    const controls = await page.controls();
    assert.ok(controls.length >= 22, `${controls.length} controls`);
    assert.deepEqual(controls.filter(control => !control.name.trim()), [], 'each control has a label');
    await checkFocus(page);
    for (const scheme of ['light', 'dark']) {
        await page.prefer({'prefers-color-scheme': scheme, 'prefers-reduced-motion': 'reduce'});
        assert.equal(await page.run(() => getComputedStyle(document.getElementById('burst')).transitionDuration), '0s');
        await checkLook(page, scheme);
    }
}

// The contrast, and both widths. Nothing is hidden or cut.
async function checkLook(page, name) {
    assert.deepEqual(await page.run(faintTexts), [], `contrast, ${name}`);
    for (const [width, height] of [[1280, 900], [390, 844]]) {
        await page.size(width, height);
        await page.until('it is drawn anew', isDrawnAt, width);
        assert.deepEqual(await page.run(lost), [], `${width} pixels`);
        await page.keepPicture(join(pictures, `${name}_${width}.png`));
    }
    await page.size(1280, 900);
}

// Each control can be reached by the keyboard, and shows that it has the focus. Events do not take the focus away.
async function checkFocus(page) {
    const focusable = () => [...document.querySelectorAll('main :is(button, input, select):not(:disabled)')].filter(one => one.getClientRects().length);
    await page.until('no action is under way', () => !document.querySelector('[data-waits]'));
    const all = await page.run(`() => (${focusable})().length`);
    assert.ok(all >= 17, `${all} controls can have the focus`);
    await page.run(`() => {
        const first = (${focusable})()[0];
        first.focus();
        window.reached = new Set([first]);
    }`);
    for (let i = 1; i < all; ++i) {
        await page.type('Tab', 9);
        await page.until('the focus is visible', () => {
            const at = document.activeElement, style = getComputedStyle(at);
            return at !== document.body && !window.reached.has(at) && style.outlineStyle !== 'none' &&
                parseFloat(style.outlineWidth) >= 2 && window.reached.add(at).size;
        });
    }
    await page.run(record);
    await page.until('some events have come', () => window.recorded.length > 3);
    assert.ok(await page.run(() => window.reached.has(document.activeElement)), 'the focus has stayed');
    await page.run(() => document.activeElement.blur());
}

// The page of a service alone has no faults, and the same tables.
async function checkServiceAlone(page) {
    const address = await page.run(() => /127\.0\.0\.1:\d+/.exec(document.getElementById('services').textContent)[0]);
    await page.prefer({'prefers-color-scheme': 'light'});
    await page.open(`http://${address}/`, 1280, 900);
    await page.until('quorum', bannerHas, 'Quorum reached. 5 of 5');
    await page.press('#form button[value=like]');
    await page.until('a like counts', () => document.getElementById('message').textContent === 'ada.first-post has 1 like.');
    await page.until('the count is right', () => document.getElementById('finding').textContent === 'The count is right.');
    assert.deepEqual((await page.run(figures)).slice(1), [1, 1]);
    await page.press('#form button[value=unlike]');
    await page.until('it is taken back', () => document.getElementById('message').textContent === 'ada.first-post has 0 likes.');
    await page.until('no lock is in use', nothingInUse);
    assert.equal(await page.run(() => document.querySelectorAll('#servers tr').length), 5);
    assert.equal(await page.run(() => document.querySelectorAll('#services tr').length), 1);
    assert.equal(await page.run(() => [...document.querySelectorAll('.stage-only, .stage-cell')].filter(one => one.getClientRects().length).length), 0);
    await checkLook(page, 'service');
    await checkPolicy(page);
}

// The page says that its program has ended.
async function checkEnd(page, address) {
    await page.open(address, 1280, 900);
    await page.until('quorum', bannerHas, 'Quorum reached. 5 of 5');
    assert.deepEqual(page.complaints, [], 'the console is empty');
    show.kill('SIGTERM');
    await page.until('there is no connection', bannerHas, 'No connection.');
}

async function checkSecret(address) {
    const {origin, host} = new URL(address);
    assert.equal(await statusOf(`${origin}/`, 'GET', {}), 404);
    assert.equal(await statusOf(`${origin}/actions/burst`, 'POST', {}), 404);
    assert.equal(await statusOf(`${address}actions/new_post`, 'POST', {Origin: 'http://elsewhere.example'}), 404);
    assert.equal(await statusOf(`${address}actions/new_post`, 'POST', {Host: 'elsewhere.example'}), 404);
    assert.equal(await statusOf(address, 'GET', {Host: host}), 200);
}

let page = null;
let failure = null;
try {
    const address = await addressOfPage();
    await checkSecret(address);
    page = await Browser.start(chromium);
    await page.open(address, 1280, 900);
    for (const check of [checkButtons, checkRareValues, checkPolicy, checkServers, checkFreeze, checkWithoutLocks, checkAccess, checkServiceAlone, checkEnd]) {
        const began = Date.now();
        await check(page, address);
        console.log(`${check.name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
    }
} catch (error) {
    failure = error;
    if (page) {
        await page.keepPicture(join(pictures, 'failure.png')).catch(() => {});
        console.error('the console:', page.complaints);
        console.error('the page says:', await page.run(() => document.querySelector('main').innerText).catch(() => 'nothing'));
    }
}
if (page) await page.end();
show.kill('SIGTERM');
await showEnded;
if (failure) {
    console.error(failure);
    process.exit(1);
}
