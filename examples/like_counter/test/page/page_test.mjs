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
const columnSum = index => [...document.querySelectorAll('#services tr')]
    .reduce((sum, row) => sum + Number(row.cells[index].textContent.replaceAll(',', '')), 0);

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

const structure = () => ({
    mains: document.querySelectorAll('main').length,
    headings: document.querySelectorAll('h1').length,
    language: document.documentElement.lang,
    tables: [...document.querySelectorAll('table')].map(table => table.caption?.textContent ?? ''),
    twice: [...document.querySelectorAll('[id]')].map(one => one.id).filter((id, i, all) => all.indexOf(id) !== i)
});

// --- The test.

async function checkButtons(page) {
    await page.until('quorum', bannerHas, 'Quorum reached. 5 of 5');
    await page.press('#form button[value=like]');
    await page.until('a like counts', () => document.getElementById('accepted').textContent === '1');
    await page.press('#form button[value=unlike]');
    await page.until('it is taken back', () => document.getElementById('accepted').textContent === '0');

    await page.press('#burst');
    await page.until('the burst is over', () => /^1000 people liked/.test(document.getElementById('message').textContent));
    await page.until('the count is right', verdictIs, 'right');
    assert.deepEqual(await page.run(figures), [1000, 1000, 1000]);
    assert.match(await page.run(textOf, 'finding'), /The count is right/);
    // The like, the one taken back, and the click of each person at each service. The page itself adds
    // nothing.
    await page.until('only likes are counted', `index => (${columnSum})(index) === 2002`, 2);
    await page.until('requests are over', `index => (${columnSum})(index) === 0`, 3);
}

async function checkServers(page) {
    await page.press('#servers [aria-label="Kill lock 1"]');
    await page.until('lock 1 is down', stateOf, 'lock 1', 'down');
    await page.until('4 of 5', bannerHas, 'Quorum reached. 4 of 5');
    for (const name of ['lock 2', 'lock 3']) {
        await page.press(`#servers [aria-label="Stop ${name}"]`);
        await page.until(`${name} is down`, stateOf, name, 'down');
    }
    await page.until('no quorum', bannerHas, 'No quorum. 2 of 5');
    await page.keepPicture(join(pictures, 'no_quorum_1280.png'));
    for (const name of ['lock 2', 'lock 3']) await page.press(`#servers [aria-label="Resume ${name}"]`);
    await page.press('#servers [aria-label="Restart lock 1"]');
    await page.until('all are ready', bannerHas, 'Quorum reached. 5 of 5');
}

async function checkFreeze(page) {
    await page.press('#freeze');
    await page.until('the holder is shown', () => /service 1, frozen/.test(document.getElementById('leases').textContent));
    await page.keepPicture(join(pictures, 'frozen_1280.png'));
    await page.until('the late write is refused', () => /Refused \(stale\)/.test(document.getElementById('message').textContent));
    await page.until('it is counted', `index => (${columnSum})(index) === 1`, 6);
    await page.until('the count is right', verdictIs, 'right');
    assert.deepEqual(await page.run(figures), [1001, 1001, 1001]);
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
    const found = await page.run(structure);
    assert.equal(found.mains, 1);
    assert.equal(found.headings, 1);
    assert.equal(found.language, 'en');
    assert.deepEqual(found.twice, []);
    assert.equal(found.tables.length, 3);
    assert.ok(found.tables.every(Boolean), 'each table has a caption');
    const controls = await page.controls();
    assert.ok(controls.length >= 22, `${controls.length} controls`);
    assert.deepEqual(controls.filter(control => !control.name.trim()), [], 'each control has a label');
    await page.run(() => document.activeElement.blur());
    await page.tab();
    await page.until('the focus is visible', () => {
        const style = getComputedStyle(document.activeElement);
        return document.activeElement !== document.body && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    });
    await page.run(() => document.activeElement.blur());
    for (const scheme of ['light', 'dark']) {
        await page.prefer({'prefers-color-scheme': scheme, 'prefers-reduced-motion': 'reduce'});
        assert.deepEqual(await page.run(faintTexts), [], `contrast, ${scheme}`);
        assert.equal(await page.run(() => getComputedStyle(document.getElementById('burst')).transitionDuration), '0s');
        for (const [width, height] of [[1280, 900], [390, 844]]) {
            await page.size(width, height);
            await page.until('it is drawn anew', width => document.getElementById('line').viewBox.baseVal.width === document.getElementById('line').clientWidth && innerWidth === width, width);
            assert.deepEqual(await page.run(lost), [], `${width} pixels`);
            await page.keepPicture(join(pictures, `${scheme}_${width}.png`));
        }
        await page.size(1280, 900);
    }
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
    for (const check of [checkButtons, checkServers, checkFreeze, checkWithoutLocks, checkAccess]) {
        const began = Date.now();
        await check(page);
        console.log(`${check.name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
    }
    assert.deepEqual(page.complaints, [], 'the console is empty');
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
